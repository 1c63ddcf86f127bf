/** One PostgreSQL server as a process of this machine, on a folder of its own; and its programs, as Debian has them. */
import type { ChildProcess } from 'node:child_process'
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { findProgram } from './real-parts.ts'
import type { Scope } from './scope.ts'

export interface PostgresServerOptions {
  /** Where its programs are. */
  readonly bin: string
  readonly folder: string
  readonly port: number
  /** What was committed outlives a crash. */
  readonly durable: boolean
}

export class PostgresServer {
  readonly host: string
  readonly folder: string
  readonly #options: PostgresServerOptions
  readonly #guardian: ChildProcess
  #server: ChildProcess | undefined

  constructor(t: Scope, options: PostgresServerOptions) {
    this.#options = options
    this.folder = options.folder
    this.host = `127.0.0.1:${options.port}`
    // A test that is killed leaves neither a server nor its files behind.
    const farewell =
      'cat; [ -f "$0/postmaster.pid" ] && kill -QUIT $(head -n 1 "$0/postmaster.pid") && kill -CONT $(head -n 1 "$0/postmaster.pid"); rm -rf "$(dirname "$0")"'
    this.#guardian = spawn('sh', ['-c', farewell, options.folder], { stdio: ['pipe', 'ignore', 'ignore'], detached: true })
    this.#guardian.unref()
    t.teardown(async () => {
      await this.crash()
      this.#guardian.stdin?.end()
    })
  }

  /** Undefined while there is none. */
  get pid(): number | undefined {
    return this.#server?.pid
  }

  urlOf(database: string): string {
    return `postgres://postgres@${this.host}/${database}`
  }

  async start(): Promise<void> {
    const { bin, port, durable } = this.#options
    const settings = {
      listen_addresses: '127.0.0.1',
      unix_socket_directories: '',
      max_connections: 200,
      shared_buffers: '32MB',
      fsync: durable ? 'on' : 'off',
      full_page_writes: durable ? 'on' : 'off',
      autovacuum: 'off',
      // Nothing that works in the background and is not asked for.
      max_worker_processes: 2,
      max_logical_replication_workers: 0,
    }
    const options = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
    const server = spawn(join(bin, 'postgres'), ['-D', this.folder, '-p', `${port}`, ...options], {
      stdio: ['ignore', 'ignore', 'pipe'],
      ...asPostgres(),
    })
    this.#server = server
    const said: string[] = []
    const lines = createInterface({ input: server.stderr })
    await new Promise<void>((resolve, reject) => {
      lines.on('line', (line) => {
        said.push(line)
        if (/ready to accept (?:read-only )?connections/.test(line)) resolve()
      })
      server.once('error', reject)
      server.once('exit', () => reject(new Error(`PostgreSQL did not start:\n${said.join('\n')}`)))
    })
    // What it says later is of no interest, and must keep nobody waiting.
    lines.close()
    server.stderr.resume()
    server.unref()
  }

  /** As it stands: it takes connections, because the system does that, and answers nothing. */
  pause(): void {
    this.#tell('SIGSTOP')
  }

  goOn(): void {
    this.#tell('SIGCONT')
  }

  /** It first, so that it has no more helpers than are found. */
  #tell(signal: 'SIGSTOP' | 'SIGCONT'): void {
    const pid = this.#server?.pid
    if (pid === undefined) return
    process.kill(pid, signal)
    const helpers = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean)
    for (const helper of helpers) process.kill(Number(helper), signal)
  }

  /** Ends it as a crash does, without writing anything down; `start` brings it back on the same port. */
  async crash(): Promise<void> {
    const server = this.#server
    this.#server = undefined
    if (server === undefined || server.exitCode !== null) return
    // One that is stopped would not hear of it.
    server.kill('SIGCONT')
    const gone = once(server, 'exit')
    server.ref()
    server.kill('SIGQUIT')
    await gone
  }
}

/** PostgreSQL refuses to be root: there it is the user that its package made. */
export function asPostgres(): { readonly uid?: number; readonly gid?: number } {
  if (process.getuid?.() !== 0) return {}
  const id = (kind: '-u' | '-g') => Number(execFileSync('id', [kind, 'postgres'], { encoding: 'utf8' }))
  return { uid: id('-u'), gid: id('-g') }
}

/** Gives it a folder, which must be its own alone. */
export function hand(folder: string): void {
  const { uid, gid } = asPostgres()
  if (uid !== undefined) execFileSync('chown', ['-R', `${uid}:${gid}`, folder])
  execFileSync('chmod', ['-R', 'go-rwx', folder])
}

/** Where its programs are; Debian has a folder for each version, and none of them on the PATH. */
export function binaries(): string | undefined {
  const [newest] = globSync('/usr/lib/postgresql/*/bin/postgres').toSorted((one, other) => version(other) - version(one))
  const found = newest ?? findProgram('postgres')
  return found && dirname(found)
}

function version(path: string): number {
  return Number(/postgresql\/(\d+)/.exec(path)?.[1])
}
