// Formats numbers for people. The node writes its page with these functions, and the dashboard
// continues with the same ones.

/** The text for an unknown number. */
export const unknown = '–'

/** Times of day, from 0 to 24 hours. */
const hours = { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' } as const
export const clock = atFirstUse(() => new Intl.DateTimeFormat('en', hours))
export const clockWithSeconds = atFirstUse(
  () => new Intl.DateTimeFormat('en', { ...hours, second: '2-digit' }),
)

const whole = atFirstUse(() => new Intl.NumberFormat('en', { maximumFractionDigits: 0 }))
const few = atFirstUse(() => new Intl.NumberFormat('en', { maximumSignificantDigits: 3 }))

export type Unit = (value: number | null | undefined) => string

export const count: Unit = (value) => shown(value, (value) => whole.format(value))

/** A number of things a second; small ones keep their fraction. */
export const rate: Unit = (value) =>
  shown(value, (value) => (value < 100 ? few : whole).format(value))

/** A fraction of one, in percent. */
export const percent: Unit = (value) => shown(value, (value) => `${whole.format(100 * value)} %`)

/** A short time, given in seconds and shown in µs, ms or s. */
export const latency: Unit = (value) =>
  shown(value, (value) => {
    if (value === 0) return '0 s'
    if (value < 0.001) return `${few.format(value * 1e6)} µs`
    return value < 1 ? `${few.format(value * 1e3)} ms` : `${few.format(value)} s`
  })

/** A long time, given in seconds and shown in the two largest units that it has. */
export const duration: Unit = (value) =>
  shown(value, (value) => {
    const seconds = Math.floor(value)
    if (seconds < 60) return `${seconds} s`
    const minutes = Math.floor(seconds / 60)
    if (minutes < 60) return `${minutes} min ${seconds % 60} s`
    const hours = Math.floor(minutes / 60)
    if (hours < 24) return `${hours} h ${minutes % 60} min`
    return `${Math.floor(hours / 24)} d ${hours % 24} h`
  })

const binary = ['B', 'KiB', 'MiB', 'GiB', 'TiB']

/** A number of bytes. */
export const bytes: Unit = (value) =>
  shown(value, (value) => {
    let power = 0
    while (value >= 1000 && power < binary.length - 1) {
      value /= 1024
      power += 1
    }
    return `${few.format(value)} ${binary[power]}`
  })

/** The units, by the names that charts use. */
export const units = { count, rate, percent, latency, duration, bytes }
export type UnitName = keyof typeof units

function shown(value: number | null | undefined, format: (value: number) => string): string {
  return value === null || value === undefined || Number.isNaN(value) ? unknown : format(value)
}

/** Makes a format on first use. Making all four takes 20 ms, and a start does not need them. */
function atFirstUse(make: () => { format(value: number | Date): string }) {
  let made: ReturnType<typeof make> | undefined
  return {
    format(value: number | Date): string {
      made ??= make()
      return made.format(value)
    },
  }
}
