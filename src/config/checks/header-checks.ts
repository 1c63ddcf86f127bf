/** Headers of a configuration that could not be sent. */

/** These headers belong to each message and are set when it is sent. */
const framingHeaders = new Set(['content-length', 'transfer-encoding', 'keep-alive', 'upgrade', 'expect'])

/** @param place where they are configured, as in `upstreams.main` */
export function findHeaderErrors(place: string, headers: Readonly<Record<string, string>>): string[] {
  return Object.entries(headers).flatMap(([header, value]) => [
    ...(isHeaderName(header) && isHeaderValue(value)
      ? []
      : [`${place}.headers: ${JSON.stringify(header)} is no valid header, or has a character that a header cannot contain.`]),
    ...(framingHeaders.has(header.toLowerCase())
      ? [`${place}.headers: ${JSON.stringify(header)} belongs to each request and cannot be configured.`]
      : []),
  ])
}

function isHeaderName(name: string): boolean {
  return /^[!#$%&'*+.^_`|~\w-]+$/.test(name)
}

/** RFC 9110, 5.5, as undici implements it. */
export function isHeaderValue(value: string): boolean {
  return /^[\t\x20-\x7e\x80-\xff]*$/.test(value)
}
