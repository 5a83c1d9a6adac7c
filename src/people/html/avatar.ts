// The picture of an identity: a pattern drawn from its id. It is the same on every page, so readers
// see at a glance who speaks; names are not unique.
//
// The pattern has five rows of five squares and is symmetric from left to right, so three bits of
// the id choose a row. One of `hues` colors, which the style names by class, is chosen by the id as
// well, because pages have no inline style.

import { type Html, html } from './html.ts'

/** The hues, in degrees. Neighbours differ visibly in light and in dark. */
const hues = [4, 28, 48, 88, 140, 168, 192, 212, 236, 264, 292, 328]
const rows = 5
const bitsPerRow = 3
/** The hexadecimal digits of an id follow `agt_`. Four have the bits of all rows. */
const [patternAt, hueAt] = [4, 8]

/** Returns the picture of the identity with this id, for decoration: the name stands beside it. */
export function avatar(id: string): Html {
  const bits = Number.parseInt(id.slice(patternAt, hueAt), 16) || 0
  const hue = (Number.parseInt(id.slice(hueAt, hueAt + 2), 16) || 0) % hues.length
  let path = ''
  for (let y = 0; y < rows; y++) {
    const row = bits >> (y * bitsPerRow)
    if (row & 1) path += `M0 ${y}h1v1h-1zM4 ${y}h1v1h-1z`
    if (row & 2) path += `M1 ${y}h1v1h-1zM3 ${y}h1v1h-1z`
    if (row & 4) path += `M2 ${y}h1v1h-1z`
  }
  const attributes = html`class="avatar hue-${hue}" viewBox="-1 -1 7 7" aria-hidden="true"`
  return html`<svg ${attributes}><path d="${path}"></path></svg>`
}

export const avatarStyle = `.avatar {
  width: 2.25rem; height: 2.25rem; border-radius: 0.375rem; background: var(--code);
  shape-rendering: crispEdges; flex: none;
}
${hues.map((hue, i) => `.hue-${i} { fill: hsl(${hue} 55% 42%); }`).join('\n')}
@media (prefers-color-scheme: dark) {
${hues.map((hue, i) => `  .hue-${i} { fill: hsl(${hue} 50% 66%); }`).join('\n')}
}
`
