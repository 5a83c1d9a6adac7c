// The small lines beside the figures at the top of the dashboard: the last ten minutes of each, as
// far as they are known, between zero and their highest value.

import type { History } from './history.ts'

const [width, height] = [120, 28]
const svg = 'http://www.w3.org/2000/svg'

/** Draws the line of each element that names a column. */
export function drawSparks(history: History): void {
  for (const place of document.querySelectorAll<HTMLElement>('[data-column]')) {
    const values = history.column(place.dataset.column!)
    const highest = Math.max(...values.map((value) => value ?? 0))
    const step = width / Math.max(1, values.length - 1)
    const path = values.map((value, i) => {
      if (value === null) return ''
      const isFirst = i === 0 || values[i - 1] === null
      const y = highest === 0 ? height : height * (1 - value / highest)
      return `${isFirst ? 'M' : 'L'}${(i * step).toFixed(1)} ${y.toFixed(1)}`
    })
    const line = document.createElementNS(svg, 'path')
    line.setAttribute('d', path.join(''))
    const picture = document.createElementNS(svg, 'svg')
    picture.setAttribute('viewBox', `0 -1 ${width} ${height + 2}`)
    picture.setAttribute('preserveAspectRatio', 'none')
    picture.append(line)
    place.replaceChildren(picture)
  }
}
