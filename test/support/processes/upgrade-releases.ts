/** Releases to upgrade between, built from the sources of this checkout, and an installed service of the present one. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import type { Test } from 'tap'
import { migrations } from '../../../src/store/migrations/migrations.ts'
import { temporaryRoot } from '../temporary-folder.ts'
import { buildVersion, packRelease } from './built-version.ts'
import { InstalledService } from './installed-service.ts'

const addMigration = [
  'dist/src/store/migrations/migrations.js',
  // The end of the list, whatever its last entry is.
  /(?<=export const migrations = \[[^\]]*)(?=,?\s*\];)/,
  ", { name: '9999-next', up: (db) => db.schema.createTable('novelty').addColumn('a', 'text').execute() }",
] as const
const failToListen = [
  'dist/src/server/record-serving.js',
  /export async function recordServing/,
  'export async function recordServing() { process.exit(1) }\nasync function neverCalled',
] as const

export const layout = migrations.map(({ name }) => name).toSorted()

export interface UpgradeReleases {
  readonly folder: string
  /** Tarballs. */
  readonly present: string
  readonly presentVersion: string
  /** Version 7.0.1: the present sources. */
  readonly patched: string
  /** Version 7.0.2, which never listens. */
  readonly broken: string
  /** Version 7.1.0, which changes the layout. */
  readonly migrating: string
  /** Version 7.1.1, which changes the layout and never listens. */
  readonly brokenMigrating: string
}

let releases: UpgradeReleases | undefined

/** Built once for all files of a process, which removes them at its end. */
export function buildUpgradeReleases(): UpgradeReleases {
  return (releases ??= build())
}

function build(): UpgradeReleases {
  const folder = mkdtempSync(join(temporaryRoot, 'svc-gateway-test-'))
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  const built = buildVersion(folder)
  return {
    folder,
    present: packRelease(folder, built),
    presentVersion: (JSON.parse(readFileSync(join(built, 'package.json'), 'utf8')) as { version: string }).version,
    patched: packRelease(folder, built, { version: '7.0.1' }),
    broken: packRelease(folder, built, { version: '7.0.2', replacements: [failToListen] }),
    migrating: packRelease(folder, built, { version: '7.1.0', replacements: [addMigration] }),
    brokenMigrating: packRelease(folder, built, { version: '7.1.1', replacements: [addMigration, failToListen] }),
  }
}

/** The present version with an account and two turns, as a running service. */
export async function startPresentVersion(
  t: Test,
  { present, presentVersion }: UpgradeReleases,
  settings: Readonly<Record<string, string>> = {},
) {
  const service = new InstalledService(t, settings)
  service.install(presentVersion, present)
  t.ok(service.control('start'), 'the service starts')
  const key = service.readKey()
  for (const _ of [1, 2]) t.equal((await service.chat(key)).status, 200)
  return { service, key }
}

export interface DatabaseContent {
  readonly layout: readonly unknown[]
  readonly turns: number
}

export function readDatabase({ dataDir }: InstalledService): DatabaseContent {
  const db = new Database(join(dataDir, 'gateway.db'), { readonly: true })
  try {
    const names = db.prepare('select name from migration order by name').pluck().all()
    return { layout: names, turns: db.prepare("select count(*) from turn where state = 'settled'").pluck().get() as number }
  } finally {
    db.close()
  }
}
