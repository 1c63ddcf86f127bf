/**
 * The environment of `svc` and its stored sessions: the only file of the command line that reads the
 * environment.
 */
import { chmodSync, closeSync, fsyncSync, openSync, readFileSync, renameSync, rmSync, statSync, writeSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { CommandFailure, createUnwritableFailure } from '../failure.ts'
import { isRecord } from '../json.ts'
import { createFolder } from '../../system/data-folder/create-folder.ts'
import { tryParseJson } from '../../system/parse-json.ts'

export interface Environment {
  /** Every variable, passed on to programs that `svc` starts. */
  readonly variables: Readonly<Record<string, string | undefined>>
  readonly platform: NodeJS.Platform
  readonly home: string
}

export function readEnvironment(home: string): Environment {
  return { variables: process.env, platform: process.platform, home }
}

/** The folder of the files that `svc` keeps, mode 0700. */
export function getConfigFolder({ variables, home }: Environment): string {
  const base = variables['XDG_CONFIG_HOME']
  return base !== undefined && base.startsWith('/') ? join(base, 'svc') : join(home, '.config', 'svc')
}

/** A signed-in session at one site. */
export interface StoredSession {
  readonly token: string
  /** The API's origin at sign-in; the token is sent to the site and to this origin only. */
  readonly apiOrigin: string
  /** Milliseconds since 1970, for information only; the service decides when the session ends. */
  readonly signedInAt: number
  readonly expiresAt?: string
  readonly account?: { readonly id?: string; readonly email_masked?: string; readonly plan?: string }
}

/** Stores sessions in a file of mode 0600, one per origin of a site. */
export class CredentialStore {
  readonly path: string

  constructor(environment: Environment) {
    this.path = join(getConfigFolder(environment), 'credentials.json')
  }

  /** Throws `credentials_unreadable` for a file in an unknown format. */
  read(siteOrigin: string): StoredSession | undefined {
    const session = this.#sites()[siteOrigin]
    return isSession(session) ? session : undefined
  }

  save(siteOrigin: string, session: StoredSession): void {
    this.#write({ ...this.#sites(), [siteOrigin]: session })
  }

  /** Throws the failure that would prevent storing a session. */
  assertWritable(): void {
    this.#write(this.#sites())
  }

  /** Returns whether a session was stored. */
  remove(siteOrigin: string): boolean {
    const { [siteOrigin]: removedSession, ...rest } = this.#sites()
    if (removedSession !== undefined) this.#write(rest)
    return removedSession !== undefined
  }

  #sites(): Readonly<Record<string, unknown>> {
    const text = readPrivateFile(this.path)
    if (text === undefined) return {}
    const fileContent = tryParseJson(text)
    if (isRecord(fileContent) && isRecord(fileContent['sites'])) return fileContent['sites']
    throw new CommandFailure(
      'credentials_unreadable',
      { en: `The file of sessions cannot be understood: ${this.path}`, zh: `无法解析登录信息文件：${this.path}` },
      { hints: [{ en: 'move it away, then run: svc login', zh: '请移走该文件，然后运行：svc login' }], exit: 'signIn' },
    )
  }

  #write(sites: Readonly<Record<string, unknown>>): void {
    writePrivateFile(this.path, `${JSON.stringify({ version: 1, sites }, null, 2)}\n`)
  }
}

/** Returns undefined if the file does not exist. Removes other users' access to the file first, if permitted. */
export function readPrivateFile(path: string): string | undefined {
  try {
    restrictToOwner(path)
    return readFileSync(path, 'utf8')
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
    throw new CommandFailure(
      'file_unreadable',
      { en: `Cannot read ${path}: ${getErrorMessage(error)}`, zh: `无法读取 ${path}：${getErrorMessage(error)}` },
      { cause: error },
    )
  }
}

/** A file of another owner, or on a read-only file system, keeps its mode. */
function restrictToOwner(path: string): void {
  const { mode } = statSync(path)
  if ((mode & 0o077) === 0 || process.platform === 'win32') return
  try {
    chmodSync(path, 0o600)
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && (error.code === 'EPERM' || error.code === 'EROFS'))) throw error
  }
}

/** Writes the file whole or not at all: a new file of mode 0600 beside the old one, synced to disk, then renamed over it. */
export function writePrivateFile(path: string, text: string): void {
  const temporary = `${path}.${process.pid}.new`
  try {
    createFolder(dirname(path), 0o700)
    chmodSync(dirname(path), 0o700)
    // A file left by a killed process with the same id must not pass its mode on to the new file.
    rmSync(temporary, { force: true })
    const file = openSync(temporary, 'wx', 0o600)
    try {
      const bytes = Buffer.from(text)
      // A nearly full disk accepts a part of the bytes without an error.
      for (let at = 0; at < bytes.length;) at += writeSync(file, bytes, at)
      fsyncSync(file)
    } finally {
      closeSync(file)
    }
    renameSync(temporary, path)
  } catch (error) {
    rmSync(temporary, { force: true })
    throw createUnwritableFailure(path, error)
  }
}

function isSession(value: unknown): value is StoredSession {
  return isRecord(value) && typeof value['token'] === 'string' && typeof value['apiOrigin'] === 'string'
}

function getErrorMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
