// wrk, the load generator (Debian package `wrk`): sends a ring of requests to one server with the
// script below, and reads its measurements.

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Seen, Send } from './generator.ts'
import { runLoad } from './process.ts'
import { type Ring, renderRing } from './ring.ts'

// Requests end with \\30. \\28 marks the place of a fresh key, \\29 that of a position. Most of
// what a request costs the load generator is the concatenation of one string there.
const script = `
local heads, tails, isKey, count = {}, {}, {}, 0
local prefix, position, rate, sent = "", 0, 0, 0

function init(args)
  prefix, position, rate = args[2], tonumber(args[3]), tonumber(args[4])
  local file = assert(io.open(args[1], "rb"))
  for text in file:read("*a"):gmatch("[^\\30]+") do
    count = count + 1
    local head, mark, tail = text:match("^(.-)([\\28\\29])(.*)$")
    heads[count], tails[count], isKey[count] = head or text, tail or false, mark == "\\28"
  end
  file:close()
end

function request()
  sent = sent + 1
  local i = sent % count + 1
  local tail = tails[i]
  if not tail then return heads[i] end
  if isKey[i] then return heads[i] .. prefix .. sent .. tail end
  return heads[i] .. math.max(0, math.floor(position + sent * rate)) .. tail
end

function done(summary, latency)
  local errors = summary.errors
  io.write(string.format(
    '\\n{"requests":%d,"seconds":%f,"errors":%d,"latencyMs":{',
    summary.requests, summary.duration / 1e6,
    errors.status + errors.connect + errors.read + errors.write + errors.timeout))
  for _, p in ipairs({ 50, 90, 99, 99.9 }) do
    io.write(string.format('"%g":%f,', p, latency:percentile(p) / 1e3))
  end
  io.write(string.format('"100":%f}}\\n', latency.max / 1e3))
end
`

/** Writes wrk's files for a ring into a directory. Returns a function that sends the ring. */
export function prepareWrk(dir: string, name: string, ring: Ring): Send {
  const scriptFile = join(dir, 'ring.lua')
  const ringFile = join(dir, `${name}.ring`)
  writeFileSync(scriptFile, script)
  writeFileSync(ringFile, renderRing(ring))
  const rate = ring.writes / ring.requests.length
  return async ({ url, connections, seconds }, filling) => {
    const command = ['wrk', '-t1', `-c${connections}`, `-d${seconds}s`, '-s', scriptFile, url, '--']
    const { prefix, position } = filling
    const args = [ringFile, prefix, `${position - ring.writes}`, `${rate}`]
    const text = await runLoad([...command, ...args])
    return JSON.parse(text.trimEnd().split('\n').at(-1)!) as Seen
  }
}
