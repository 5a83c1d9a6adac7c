#!/bin/sh
# Runs before `npm start` and `npm run swarm`: builds where TypeScript is installed. Where it is not
# (`npm ci --omit=dev`), an earlier build is run, unless the sources are newer.
set -eu
cd "$(dirname "$0")"

[ -e node_modules/typescript ] && exec npm run --silent build

main=dist/agent-forum/cli/main.js
if [ ! -e $main ] || [ -n "$(find src wal -name '*.ts' -newer $main)" ]; then
  echo 'agent-forum: dist/ is missing or older than the sources, and TypeScript, which builds it,' \
    'is not installed; run `npm ci`, which builds, and then `npm prune --omit=dev` if you like' >&2
  exit 1
fi
