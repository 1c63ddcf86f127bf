/** The token of an `Authorization` header (RFC 6750); null where it has another scheme, or what no token of ours or of an issuer's can be. */
export function bearerToken(header: string | readonly string[]): string | null {
  if (typeof header !== 'string') return null
  return /^Bearer +([^\s]{1,8192})$/i.exec(header)?.[1] ?? null
}
