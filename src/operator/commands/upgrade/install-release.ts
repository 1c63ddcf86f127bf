/** Installs a release into a folder of its own, after its checksum was verified. */
import { systemClock } from '../../../system/clock.ts'
import { createHash } from 'node:crypto'
import { createReadStream, existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { Readable } from 'node:stream'
import type { ReadableStream } from 'node:stream/web'
import { z } from 'zod'
import { hashStream } from '../../../backup/hash-stream.ts'
import { isLoopbackHost } from '../../../system/loopback.ts'
import { OperatorError, describeSystemError } from '../../../system/operator-error.ts'
import { parseJson } from '../../../system/parse-json.ts'
import { compareVersions, isVersion } from './installed-versions.ts'
import type { InstalledVersions } from './installed-versions.ts'
import { describeFailure, runProgram } from './service-programs.ts'
import '../../../system/vendor/undici-fetch.ts'

export interface ReleaseSource {
  /** A tarball on this machine, or a version. */
  readonly to: string
  /** The tarball's SHA-256, where no SHA256SUMS is beside it. */
  readonly sha256: string | undefined
  /** Address below which each release has a folder, as in https://github.com/OWNER/svc-gateway/releases/download. */
  readonly releases: string | null
}

/** The version names a folder. */
const manifestSchema = z.object({ name: z.literal('svc-gateway'), version: z.string().refine(isVersion) })

const maxTarballBytes = 256 * 1024 * 1024
const maxSumsBytes = 64 * 1024
const downloadTimeoutMs = 600_000
const sumsName = 'SHA256SUMS'

/** Returns the version. @throws OperatorError; then no version was added */
export async function installRelease(source: ReleaseSource, versions: InstalledVersions): Promise<string> {
  const { to } = source
  if (isVersion(to)) assertNotOlder(to, versions.current)
  if (isVersion(to) && versions.has(to)) return to
  const { staging } = versions
  rmSync(staging, { recursive: true, force: true })
  mkdirSync(staging, { mode: 0o755 })
  try {
    const tarball = join(staging, 'svc-gateway.tgz')
    const { name, content, readSums } = isVersion(to) ? locateDownload(to, source.releases) : locateFile(to)
    const expectedChecksum = source.sha256 ?? findChecksum(await readSums(), name)
    // A copy that only root can write is verified and used: the named file could change in between.
    const actual = await copyAndHash(await content(), tarball)
    if (actual !== expectedChecksum.toLowerCase())
      throw new OperatorError(`${name} has the SHA-256 ${actual}, and not ${expectedChecksum}. Nothing was unpacked.`)
    const version = await readVersionOf(tarball, name)
    if (isVersion(to) && version !== to) throw new OperatorError(`${name} is ${version}, and not ${to}.`)
    assertNotOlder(version, versions.current)
    if (!versions.has(version)) await unpack(tarball, version, versions)
    return version
  } finally {
    rmSync(staging, { recursive: true, force: true })
  }
}

function assertNotOlder(version: string, current: string): void {
  if (compareVersions(version, current) >= 0) return
  throw new OperatorError(
    `${version} is older than ${current}, which runs, and an older version cannot read the data of a newer one. The way back is svc-gateway upgrade --back.`,
  )
}

interface LocatedRelease {
  readonly name: string
  content(): Promise<AsyncIterable<Uint8Array>>
  readSums(): Promise<string>
}

function locateFile(path: string): LocatedRelease {
  const file = resolve(path)
  if (!existsSync(file)) throw new OperatorError(`There is no file ${file}, and ${path} is no version such as 0.3.0.`)
  return {
    name: basename(file),
    content: async () => createReadStream(file),
    async readSums() {
      const sums = join(dirname(file), sumsName)
      if (!existsSync(sums))
        throw new OperatorError(`There is no ${sumsName} beside ${file}: put that of the release there, or give --sha256.`)
      return readFileSync(sums, 'utf8')
    },
  }
}

function locateDownload(version: string, releases: string | null): LocatedRelease {
  if (releases === null)
    throw new OperatorError(
      `${version} is not installed, and no address of releases is known: give a tarball, or --releases https://github.com/OWNER/svc-gateway/releases/download (RELEASES_URL).`,
    )
  const folder = URL.canParse(releases) ? new URL(`${releases.replace(/\/$/, '')}/v${version}/`) : null
  if (folder === null || !(folder.protocol === 'https:' || isLoopbackHost(folder.hostname)))
    throw new OperatorError(`${releases} is no https address.`)
  const name = `svc-gateway-${version}.tgz`
  const get = async (file: string): Promise<AsyncIterable<Uint8Array>> => {
    const address = new URL(file, folder)
    const { ok, status, body } = await fetch(address, { signal: systemClock.deadline(downloadTimeoutMs) }).catch(
      (error: unknown) => {
        throw new OperatorError(`${address.href} cannot be read: ${describeSystemError(error)}.`, { cause: error })
      },
    )
    if (!ok || body === null) throw new OperatorError(`${address.href} answers HTTP ${status}.`)
    return Readable.fromWeb(body as ReadableStream<Uint8Array>)
  }
  return {
    name,
    content: () => get(name),
    async readSums() {
      const pieces: Uint8Array[] = []
      for await (const piece of boundBytes(await get(sumsName), maxSumsBytes)) pieces.push(piece)
      return Buffer.concat(pieces).toString('utf8')
    },
  }
}

function findChecksum(sums: string, name: string): string {
  for (const line of sums.split('\n')) {
    const [, sum, file] = /^([\da-f]{64}) [ *](.+)$/i.exec(line.trim()) ?? []
    if (sum !== undefined && file === name) return sum
  }
  throw new OperatorError(`${sumsName} has no line for ${name}.`)
}

async function copyAndHash(content: AsyncIterable<Uint8Array>, to: string): Promise<string> {
  const hash = createHash('sha256')
  const handle = await open(to, 'wx', 0o600)
  try {
    for await (const piece of hashStream(boundBytes(content, maxTarballBytes), hash)) await handle.write(piece)
  } catch (error) {
    if (error instanceof OperatorError) throw error
    throw new OperatorError(`The release cannot be read: ${describeSystemError(error)}.`, { cause: error })
  } finally {
    await handle.close()
  }
  return hash.digest('hex')
}

async function* boundBytes(content: AsyncIterable<Uint8Array>, maxBytes: number): AsyncGenerator<Uint8Array> {
  let bytes = 0
  for await (const piece of content) {
    bytes += piece.length
    if (bytes > maxBytes) throw new OperatorError(`The file has more than ${maxBytes} bytes, so it is no release.`)
    yield piece
  }
}

async function readVersionOf(tarball: string, name: string): Promise<string> {
  const { stdout } = await runProgram('tar', ['-xzOf', tarball, 'package/package.json'])
  try {
    return manifestSchema.parse(parseJson(stdout)).version
  } catch (error) {
    throw new OperatorError(`${name} is not a release of svc-gateway.`, { cause: error })
  }
}

async function unpack(tarball: string, version: string, versions: InstalledVersions): Promise<void> {
  const prefix = join(versions.staging, 'installed')
  mkdirSync(prefix, { mode: 0o755 })
  // No package of a release has a script that it needs, and root runs none.
  const options = ['--ignore-scripts', '--prefer-offline', '--no-audit', '--no-fund', '--loglevel=error']
  const installation = await runProgram('npm', ['install', '--global', '--prefix', prefix, ...options, tarball])
  if (installation.code !== 0)
    throw new OperatorError(
      `npm could not install ${version}; it needs the release's dependencies from a registry or from its cache:\n${describeFailure(installation)}`,
    )
  await runProgram('sync', [])
  renameSync(prefix, versions.getFolder(version))
}
