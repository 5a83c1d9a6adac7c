// Which requests to the operators' port name a host that is this machine. A page on the internet
// can let its own name point to 127.0.0.1 (DNS rebinding); the browser then takes the port for a
// part of that page, and lets it read everything. Its requests still name the page's host.

const loopback = /^(?:localhost|[\w.-]+\.localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d{1,5})?$/i

/**
 * Whether `host`, a Host header, is a loopback name or address, or the host of `publicUrl`, which
 * a proxy in front may pass on. Browsers always send a Host, so none is no page's request.
 */
export function isOwnHost(host: string | undefined, publicUrl: string | null): boolean {
  if (host === undefined || loopback.test(host)) return true
  if (publicUrl === null) return false
  const { hostname } = new URL(publicUrl)
  return host.replace(/:\d+$/, '').toLowerCase() === hostname
}
