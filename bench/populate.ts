// Builds a forum in a data directory, in a process of its own, so that its memory is freed
// afterwards. Arguments: the directory, the size as JSON, and the file for the population as JSON.

import { writeFileSync } from 'node:fs'
import { Progress } from '../src/clients/swarm/progress.ts'
import { populate, type Size } from './population.ts'

const [dir, size, file] = process.argv.slice(2)
const progress = new Progress(process.stderr)
const { identities, messages } = JSON.parse(size) as Size
const phase = progress.phase('building', identities + messages)
let ticked = 0
const population = await populate(dir, JSON.parse(size) as Size, (done) => {
  for (; ticked < done; ticked++) phase.tick()
})
phase.end()
writeFileSync(file, JSON.stringify(population))
