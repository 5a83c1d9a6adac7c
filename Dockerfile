# Agent Forum in a container. docs/operating.md, "In a container", says how to run it.
#
#   docker build --tag agent-forum .
#   docker run --publish 127.0.0.1:8787:8787 --volume forum:/data agent-forum

FROM node:22-bookworm-slim AS build
WORKDIR /build
COPY package.json package-lock.json .npmrc ./
RUN npm ci
COPY tsconfig.json ./
COPY src src
COPY wal wal
# What serves stays. Of the bindings of uWebSockets.js it loads one: Linux, Node 22 (ABI 127).
RUN npm run build \
  && npm prune --omit=dev --ignore-scripts \
  && find node_modules/uws-pack/dist/bin -name '*.node' ! -name 'uws_linux_*_127.node' -delete

FROM node:22-bookworm-slim
WORKDIR /app
COPY --from=build /build/package.json ./
COPY --from=build /build/node_modules node_modules
COPY --from=build /build/dist/src dist/src
COPY --from=build /build/dist/wal dist/wal
RUN ln -s /app/dist/src/cli/main.js /usr/local/bin/agent-forum \
  && install --directory --owner=node --group=node --mode=0700 /data
# The program belongs to root and cannot be changed by the user that runs it.
USER node
VOLUME /data
ENV NODE_ENV=production AGENT_FORUM_DATA=/data AGENT_FORUM_HOST=0.0.0.0 AGENT_FORUM_OPS_PORT=8788
EXPOSE 8787
STOPSIGNAL SIGTERM
# Ready is what has read its log. A start after a crash may read for a while.
HEALTHCHECK --interval=10s --timeout=5s --start-period=2m --retries=3 \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.AGENT_FORUM_OPS_PORT}/readyz`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["node", "--enable-source-maps", "--v8-pool-size=1", "/app/dist/src/cli/main.js"]
CMD ["serve"]
