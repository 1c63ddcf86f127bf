/** One PostgreSQL server as a process of this machine, in its own folder, and the paths of Debian's programs. */
import type { ChildProcess } from 'node:child_process'
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { findProgram } from '../../require-program.ts'
import type { TestScope } from '../../test-scope.ts'

export interface PostgresServerOptions {
  /** The folder of its programs. */
  readonly bin: string
  readonly folder: string
  readonly port: number
  /** Committed data survives a crash. */
  readonly durable: boolean
}

export class PostgresServer {
  readonly host: string
  readonly folder: string
  readonly #options: PostgresServerOptions
  readonly #cleanupProcess: ChildProcess
  #server: ChildProcess | undefined

  constructor(t: TestScope, options: PostgresServerOptions) {
    this.#options = options
    this.folder = options.folder
    this.host = `127.0.0.1:${options.port}`
    // A killed test leaves neither a server nor its files behind.
    const cleanupScript =
      'cat; [ -f "$0/postmaster.pid" ] && kill -QUIT $(head -n 1 "$0/postmaster.pid") && kill -CONT $(head -n 1 "$0/postmaster.pid"); rm -rf "$(dirname "$0")"'
    this.#cleanupProcess = spawn('sh', ['-c', cleanupScript, options.folder], {
      stdio: ['pipe', 'ignore', 'ignore'],
      detached: true,
    })
    this.#cleanupProcess.unref()
    t.teardown(async () => {
      await this.crash()
      this.#cleanupProcess.stdin?.end()
    })
  }

  /** Undefined while it does not run. */
  get pid(): number | undefined {
    return this.#server?.pid
  }

  getUrl(database: string): string {
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
      // No background work that a test does not need.
      max_worker_processes: 2,
      max_logical_replication_workers: 0,
    }
    const options = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
    const server = spawn(join(bin, 'postgres'), ['-D', this.folder, '-p', `${port}`, ...options], {
      stdio: ['ignore', 'ignore', 'pipe'],
      ...getPostgresUser(),
    })
    this.#server = server
    const output: string[] = []
    const lines = createInterface({ input: server.stderr })
    await new Promise<void>((resolve, reject) => {
      lines.on('line', (line) => {
        output.push(line)
        if (/ready to accept (?:read-only )?connections/.test(line)) resolve()
      })
      server.once('error', reject)
      server.once('exit', () => reject(new Error(`PostgreSQL did not start:\n${output.join('\n')}`)))
    })
    // Later output is ignored and must not keep the process alive.
    lines.close()
    server.stderr.resume()
    server.unref()
  }

  /** Suspends it: the system still accepts connections, but nothing answers. */
  pause(): void {
    this.#signal('SIGSTOP')
  }

  resume(): void {
    this.#signal('SIGCONT')
  }

  /** The server first, so that it starts no more helper processes than are listed. */
  #signal(signal: 'SIGSTOP' | 'SIGCONT'): void {
    const pid = this.#server?.pid
    if (pid === undefined) return
    process.kill(pid, signal)
    const helpers = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean)
    for (const helper of helpers) {
      try {
        process.kill(Number(helper), signal)
      } catch (error) {
        // One may have ended meanwhile.
        if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error
      }
    }
  }

  /** Ends it like a crash, without writing anything; `start` starts it again on the same port. */
  async crash(): Promise<void> {
    const server = this.#server
    this.#server = undefined
    if (server === undefined || server.exitCode !== null) return
    // A suspended process would not receive the signal.
    server.kill('SIGCONT')
    const gone = once(server, 'exit')
    server.ref()
    server.kill('SIGQUIT')
    await gone
  }
}

/** PostgreSQL refuses to run as root, so it runs as the user that its package created. */
export function getPostgresUser(): { readonly uid?: number; readonly gid?: number } {
  if (process.getuid?.() !== 0) return {}
  const id = (kind: '-u' | '-g') => Number(execFileSync('id', [kind, 'postgres'], { encoding: 'utf8' }))
  return { uid: id('-u'), gid: id('-g') }
}

/** Makes that user the owner of a folder, which must be private to it. */
export function chownToPostgres(folder: string): void {
  const { uid, gid } = getPostgresUser()
  if (uid !== undefined) execFileSync('chown', ['-R', `${uid}:${gid}`, folder])
  execFileSync('chmod', ['-R', 'go-rwx', folder])
}

/** Finds the folder of its programs; Debian has one for each version, and none of them on the PATH. */
export function findPostgresBinaries(): string | undefined {
  const [newest] = globSync('/usr/lib/postgresql/*/bin/postgres').toSorted(
    (one, other) => parseVersion(other) - parseVersion(one),
  )
  const found = newest ?? findProgram('postgres')
  return found && dirname(found)
}

function parseVersion(path: string): number {
  return Number(/postgresql\/(\d+)/.exec(path)?.[1])
}
