/**
 * Prints the CycloneDX bill of materials of the package: each package of the lock file that is not for development only.
 * `npm sbom --omit=dev` leaves out every package that a development dependency needs too (undici, zod and 35 others with npm 11), so npm
 * receives a package without development dependencies.
 */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

interface Lock {
  readonly packages: Readonly<Record<string, { readonly dev?: boolean }>>
}

export function createBillOfMaterials(root: string): string {
  const manifest = { ...(JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as object), devDependencies: {} }
  const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as Lock
  const packages = Object.entries(lock.packages)
    .filter(([, { dev }]) => dev !== true)
    .map(([path, entry]) => [path, path === '' ? { ...entry, devDependencies: {} } : entry])
  const folder = mkdtempSync(join(tmpdir(), 'svc-gateway-sbom-'))
  try {
    writeFileSync(join(folder, 'package.json'), JSON.stringify(manifest))
    writeFileSync(join(folder, 'package-lock.json'), JSON.stringify({ ...lock, packages: Object.fromEntries(packages) }))
    const words = ['sbom', '--package-lock-only', '--sbom-format=cyclonedx', '--loglevel=error']
    return execFileSync('npm', words, { cwd: folder, encoding: 'utf8' })
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

if (import.meta.main) process.stdout.write(createBillOfMaterials('.'))
