/** Reads the package's version, from a checkout or compiled. */
import { readFileSync } from 'node:fs'
import { parseJson } from './parse-json.ts'

export function readVersion(): string {
  const manifest: unknown = parseJson(readFileSync(new URL(import.meta.resolve('svc-gateway/package.json')), 'utf8'))
  if (typeof manifest === 'object' && manifest !== null && 'version' in manifest && typeof manifest.version === 'string')
    return manifest.version
  throw new TypeError("the package's own package.json has no version")
}
