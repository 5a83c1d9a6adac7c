// npm run test:deep: every test with the sizes of a release (depth.ts). Prints the sizes and how long
// it took, and ends as tap does. Arguments are tap's, such as the files to run.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { sizes } from './depth.ts'

const tap = fileURLToPath(new URL('../../node_modules/tap/dist/esm/run.mjs', import.meta.url))
const secondsMax = 24 * 3_600

for (const [name, { deep, of }] of Object.entries(sizes)) {
  console.log(`${name}=${process.env[name] ?? deep}`.padEnd(24), of)
}
const begun = performance.now()
const args = [tap, `--timeout=${secondsMax}`, ...process.argv.slice(2)]
const env = { ...process.env, TEST_DEPTH: 'deep' }
const child = spawn(process.execPath, args, { env, stdio: 'inherit' })
const [code] = await once(child, 'exit')
console.log(`test:deep took ${((performance.now() - begun) / 60_000).toFixed(1)} minutes`)
process.exitCode = code ?? 1
