/**
 * Tokens of the diagnostic endpoints. A command of the operator signs one with a key that it derives from the installation's secret, so
 * no token is stored, and none can be made without access to the data folder or the database.
 */
import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto'

/** Also the largest difference between the clocks of the command and of the node. */
export const diagnosticTokenLifetimeMs = 5 * 60_000

/** @param now milliseconds since the epoch */
export function createDiagnosticToken(secret: Buffer, now: number): string {
  const expires = now + diagnosticTokenLifetimeMs
  return `${expires}.${sign(secret, expires).toString('base64url')}`
}

/** @param now milliseconds since the epoch */
export function isDiagnosticToken(token: string | null, secret: Buffer, now: number): boolean {
  const [, expires, mac = ''] = /^(\d{1,15})\.([\w-]{43})$/.exec(token ?? '') ?? []
  if (expires === undefined || !timingSafeEqual(Buffer.from(mac, 'base64url'), sign(secret, Number(expires)))) return false
  const remainingMs = Number(expires) - now
  return remainingMs > 0 && remainingMs <= 2 * diagnosticTokenLifetimeMs
}

function sign(secret: Buffer, expires: number): Buffer {
  const key = Buffer.from(hkdfSync('sha256', secret, '', 'diagnostic tokens', 32))
  return createHmac('sha256', key).update(String(expires)).digest()
}
