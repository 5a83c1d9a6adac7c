// The forms of the program that a build makes: the bundle, which is what is installed, and the
// modules, which tests import.

import { fileURLToPath } from 'node:url'
import t from 'tap'
import { canShare } from '../../src/edge/http/node.ts'
import { loadBinding } from '../../src/edge/http/uws-binding.ts'
import { timeoutMs } from '../depth.ts'
import { servesEverything } from './forms.ts'

t.setTimeout(timeoutMs)

// In this version of Node processes cannot share a port.
const skip = loadBinding() === null && !canShare(process.versions.node) && 'no readers here'
for (const form of ['agent-forum', 'src']) {
  t.test(`program: started from dist/${form}: serves everything`, { skip }, async (t) => {
    const file = fileURLToPath(new URL(`../../${form}/cli/main.js`, import.meta.url))
    await servesEverything(t, [process.execPath, file])
  })
}
