// Ends the process if this Node is too old to run the program, with one sentence and exit code 64.
//
// V1. This file and main.ts, which imports it first, load in every version of Node that has ES
//     modules (12): they import nothing else, and are written without newer syntax.
// V2. It accepts the versions that package.json has as `engines`, for programs that npm did not
//     start.
//
// `npm run build` runs it, too, before the first program of this project.

const [major, minor] = process.versions.node.split('.').map(Number)
const isSupported = (major === 20 && minor >= 19) || (major === 22 && minor >= 12) || major > 22

if (!isSupported) {
  process.stderr.write(
    'agent-forum: this is Node ' +
      process.versions.node +
      ', and Node 22.12 or newer is needed (of Node 20, which works as well, 20.19)\n',
  )
  process.exit(64)
}
