#!/bin/sh
# Runs before `npm start` and `npm run swarm`: builds if the build is older than its sources. Where
# TypeScript is not installed (`npm ci --omit=dev`), an older build is refused instead. One start
# at a time looks and builds, so that none runs files that another one is just writing.
set -eu
cd "$(dirname "$0")"

main=dist/agent-forum/cli/main.js
lock=dist/.building
mkdir -p dist
if [ -w dist ]; then
  # A lock that is older than any build was left behind by one that was killed.
  until mkdir $lock 2>/dev/null; do
    [ -z "$(find $lock -prune -mmin +3 2>/dev/null)" ] || rmdir $lock 2>/dev/null || true
    sleep 0.2
  done
  trap 'rmdir $lock 2>/dev/null || true' EXIT
  trap 'exit 130' INT TERM
fi

# A directory is newer, too, when a file in it was added, removed or renamed. What package-lock.json
# changes, `npm ci` builds; `npm prune` writes the file without a change.
sources='src wal build tsconfig.json package.json'
if [ -e $main ] && [ -z "$(find $sources -newer $main)" ]; then
  exit 0
fi
if [ -e node_modules/typescript ]; then
  npm run --silent build
else
  echo 'agent-forum: dist/ is missing or older than the sources, and TypeScript, which builds it,' \
    'is not installed; run `npm ci`, which builds, and then `npm prune --omit=dev` if you like' >&2
  exit 1
fi
