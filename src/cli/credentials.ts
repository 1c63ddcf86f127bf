/**
 * What `svc` takes from its surroundings, and the sessions it keeps: the only file of the command line that reads the
 * environment.
 */
import {
  chmodSync,
  closeSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { CommandFailure } from './failure.ts'
import { isRecord } from './record.ts'

export interface Environment {
  /** Every variable, for handing on to programs that `svc` starts. */
  readonly variables: Readonly<Record<string, string | undefined>>
  readonly platform: NodeJS.Platform
  readonly home: string
}

export function readEnvironment(home: string): Environment {
  return { variables: process.env, platform: process.platform, home }
}

/** The folder of the command line's own files, mode 0700. */
export function configFolder({ variables, home }: Environment): string {
  const base = variables['XDG_CONFIG_HOME']
  return base !== undefined && base.startsWith('/') ? join(base, 'svc') : join(home, '.config', 'svc')
}

/** A signed-in session at one site. */
export interface StoredSession {
  readonly token: string
  /** The API's origin as it was when the user signed in; the token goes to the site and here, and nowhere else. */
  readonly apiOrigin: string
  /** Milliseconds since 1970, for the reader; the service decides. */
  readonly signedInAt: number
  readonly expiresAt?: string
  readonly account?: { readonly id?: string; readonly email_masked?: string; readonly plan?: string }
}

/** Sessions in a file of mode 0600, one for each site's origin. */
export class CredentialStore {
  readonly path: string

  constructor(environment: Environment) {
    this.path = join(configFolder(environment), 'credentials.json')
  }

  /** Throws `credentials_unreadable` for a file that is not ours to understand. */
  read(siteOrigin: string): StoredSession | undefined {
    const session = this.#sites()[siteOrigin]
    return isSession(session) ? session : undefined
  }

  save(siteOrigin: string, session: StoredSession): void {
    this.#write({ ...this.#sites(), [siteOrigin]: session })
  }

  /** Throws what would stand in the way of keeping a session. */
  prove(): void {
    this.#write(this.#sites())
  }

  /** True where there was one. */
  remove(siteOrigin: string): boolean {
    const { [siteOrigin]: gone, ...rest } = this.#sites()
    if (gone !== undefined) this.#write(rest)
    return gone !== undefined
  }

  #sites(): Readonly<Record<string, unknown>> {
    const text = readPrivate(this.path)
    if (text === undefined) return {}
    const read = parse(text)
    if (isRecord(read) && isRecord(read['sites'])) return read['sites']
    throw new CommandFailure(
      'credentials_unreadable',
      { en: `The file of sessions cannot be understood: ${this.path}`, zh: `无法解析登录信息文件:${this.path}` },
      { hints: [{ en: 'move it away, then run: svc login', zh: '请移走该文件,然后运行:svc login' }], exit: 'signIn' },
    )
  }

  #write(sites: Readonly<Record<string, unknown>>): void {
    writePrivate(this.path, `${JSON.stringify({ version: 1, sites }, null, 2)}\n`)
  }
}

/** Undefined where there is no such file. A file that others may read is closed to them first, where that is ours to do. */
export function readPrivate(path: string): string | undefined {
  try {
    closeToOthers(path)
    return readFileSync(path, 'utf8')
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
    throw new CommandFailure(
      'file_unreadable',
      { en: `Cannot read ${path}: ${reason(error)}`, zh: `无法读取 ${path}:${reason(error)}` },
      { cause: error },
    )
  }
}

/** One that somebody else has put there for us, or on a file system that nobody may write to, has the mode that was meant. */
function closeToOthers(path: string): void {
  const { mode } = statSync(path)
  if ((mode & 0o077) === 0 || process.platform === 'win32') return
  try {
    chmodSync(path, 0o600)
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && (error.code === 'EPERM' || error.code === 'EROFS'))) throw error
  }
}

/** Written whole or not at all: a new file of mode 0600 beside the old one, made durable, then renamed over it. */
export function writePrivate(path: string, text: string): void {
  const temporary = `${path}.${process.pid}.new`
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
    chmodSync(dirname(path), 0o700)
    // A leftover of a killed process with the same number must not lend its mode to the new file.
    rmSync(temporary, { force: true })
    const file = openSync(temporary, 'wx', 0o600)
    try {
      const bytes = Buffer.from(text)
      // A disk that has room for a part takes that part, and says nothing.
      for (let at = 0; at < bytes.length;) at += writeSync(file, bytes, at)
      fsyncSync(file)
    } finally {
      closeSync(file)
    }
    renameSync(temporary, path)
  } catch (error) {
    rmSync(temporary, { force: true })
    throw new CommandFailure(
      'file_unwritable',
      { en: `Cannot write ${path}: ${reason(error)}`, zh: `无法写入 ${path}:${reason(error)}` },
      { cause: error },
    )
  }
}

function isSession(value: unknown): value is StoredSession {
  return isRecord(value) && typeof value['token'] === 'string' && typeof value['apiOrigin'] === 'string'
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function reason(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
