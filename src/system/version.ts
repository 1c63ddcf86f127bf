/** Reads the package's version, from a checkout or compiled. */
import { readFileSync } from 'node:fs'
import { parseJson } from './parse-json.ts'

export function readVersion(): string {
  const read: unknown = parseJson(readFileSync(new URL(import.meta.resolve('svc-gateway/package.json')), 'utf8'))
  if (typeof read === 'object' && read !== null && 'version' in read && typeof read.version === 'string') return read.version
  throw new TypeError("the package's own package.json has no version")
}
