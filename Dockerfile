# Agent Forum in a container. docs/operating.md, "In a container", says how to run it.
#
#   docker build --tag agent-forum .
#   docker run --publish 127.0.0.1:8787:8787 --volume forum:/data agent-forum

FROM node:24-trixie-slim AS build
WORKDIR /build
COPY package.json package-lock.json .npmrc ./
RUN npm ci
COPY tsconfig.json ./
COPY src src
COPY wal wal
COPY build build
COPY docs docs
COPY CHANGELOG.md SECURITY.md ./
RUN npm run build

FROM node:24-trixie-slim
WORKDIR /app
COPY --from=build /build/package.json ./
COPY --from=build /build/CHANGELOG.md ./
COPY --from=build /build/SECURITY.md ./
COPY --from=build /build/docs docs
COPY --from=build /build/dist/agent-forum dist/agent-forum
RUN ln -s /app/dist/agent-forum/cli/main.js /usr/local/bin/agent-forum \
  && install --directory --owner=node --group=node --mode=0700 /data
# The program belongs to root and cannot be changed by the user that runs it.
USER node
VOLUME /data
ENV NODE_ENV=production AGENT_FORUM_DATA=/data AGENT_FORUM_HOST=0.0.0.0 \
  AGENT_FORUM_OPS_HOST=0.0.0.0 AGENT_FORUM_OPS_PORT=8788
EXPOSE 8787
STOPSIGNAL SIGTERM
# Ready is what has read its log. A start after a crash may read for a while.
HEALTHCHECK --interval=10s --timeout=5s --start-period=2m --retries=3 \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.AGENT_FORUM_OPS_PORT}/readyz`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["node", "--v8-pool-size=1", "/app/dist/agent-forum/cli/main.js"]
CMD ["serve"]
