/**
 * The versions that `deploy/install.sh` and `svc-gateway upgrade` install: a folder for each, and the link `current` to the one that the service
 * starts. All of it belongs to root; the service's user can only read it.
 */
import {
  existsSync,
  lstatSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'
import { OperatorError } from '../../../system/operator-error.ts'
import { parseJson } from '../../../system/parse-json.ts'

const packagePath = 'lib/node_modules/svc-gateway'

const recordSchema = z.object({
  from: z.string(),
  to: z.string(),
  /** The schema changes that the database had; null on PostgreSQL. */
  layout: z.array(z.string()).nullable(),
})

/** The last upgrade, which `--back` takes back. */
type UpgradeRecord = z.infer<typeof recordSchema>

export class InstalledVersions {
  readonly root: string
  /** The version of the program that runs this code. */
  readonly ownVersion: string

  /** @throws OperatorError where the program was installed in another way, or others than root can change it */
  constructor(packageFolder = dirname(fileURLToPath(import.meta.resolve('svc-gateway/package.json')))) {
    const versionFolder = resolve(packageFolder, '../../..')
    this.root = dirname(versionFolder)
    this.ownVersion = basename(versionFolder)
    const isOurs =
      packageFolder === join(versionFolder, packagePath) &&
      lstatSync(this.#current, { throwIfNoEntry: false })?.isSymbolicLink() === true
    if (!isOurs)
      throw new OperatorError(
        'This program was not installed by deploy/install.sh, which makes a folder for each version. Upgrade it as it was installed: npm install --global, or another image.',
      )
    for (const folder of [this.root, versionFolder, packageFolder]) assertOnlyRootWrites(folder)
  }

  get #current(): string {
    return join(this.root, 'current')
  }

  get #record(): string {
    return join(this.root, 'upgrade.json')
  }

  /** A link to the version that runs an upgrade, from the switch until the new version is ready. systemd reads it. */
  get #unfinished(): string {
    return join(this.root, 'unfinished')
  }

  /** Where a release is unpacked before it is complete. */
  get staging(): string {
    return join(this.root, '.upgrade')
  }

  /** The version that the service starts. */
  get current(): string {
    return basename(readlinkSync(this.#current))
  }

  getFolder(version: string): string {
    return join(this.root, version)
  }

  getProgram(version: string): string {
    return join(this.getFolder(version), packagePath, 'bin/svc-gateway.js')
  }

  has(version: string): boolean {
    return existsSync(this.getProgram(version))
  }

  /** The service's next start is of this version. */
  switchTo(version: string): void {
    replaceLink(this.#current, version)
  }

  readRecord(): UpgradeRecord | null {
    if (!existsSync(this.#record)) return null
    return recordSchema.parse(parseJson(readFileSync(this.#record, 'utf8')))
  }

  /** Call it before the switch. */
  begin(record: UpgradeRecord): void {
    const next = `${this.#record}.new`
    writeFileSync(next, `${JSON.stringify(record)}\n`, { mode: 0o644, flush: true })
    renameSync(next, this.#record)
    replaceLink(this.#unfinished, this.ownVersion)
  }

  get isUnfinished(): boolean {
    return lstatSync(this.#unfinished, { throwIfNoEntry: false }) !== undefined
  }

  /** The new version is ready. The way back stays open. */
  finish(): void {
    rmSync(this.#unfinished, { force: true })
  }

  /** The version before is back. */
  forget(): void {
    rmSync(this.#record, { force: true })
    this.finish()
  }
}

/** In one step, so that there is no moment without a program. */
function replaceLink(link: string, target: string): void {
  const next = `${link}.new`
  rmSync(next, { force: true })
  symlinkSync(target, next)
  renameSync(next, link)
}

function assertOnlyRootWrites(folder: string): void {
  const { uid, mode } = statSync(folder)
  if (uid === 0 && (mode & 0o022) === 0) return
  throw new OperatorError(
    `${folder} can be changed by others than root. Run: chown -R root:root ${folder} && chmod -R go-w ${folder}`,
  )
}

const versionPattern = /^(\d{1,6})\.(\d{1,6})\.(\d{1,6})(?:-([\dA-Za-z.-]{1,64}))?$/

export function isVersion(text: string): boolean {
  return versionPattern.test(text)
}

/** Below 0: `one` is older. A pre-release is older than its release; pre-releases of one release are compared by their numbers and words. */
export function compareVersions(one: string, other: string): number {
  const [, ...left] = versionPattern.exec(one) ?? []
  const [, ...right] = versionPattern.exec(other) ?? []
  for (const index of [0, 1, 2]) {
    const difference = Number(left[index]) - Number(right[index])
    if (difference !== 0) return difference
  }
  if (left[3] === right[3]) return 0
  if (left[3] === undefined) return 1
  if (right[3] === undefined) return -1
  return left[3].localeCompare(right[3], 'en', { numeric: true })
}
