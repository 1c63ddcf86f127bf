/**
 * A real PostgreSQL for one test file: a cluster of its own, copied from one that is kept, in memory where there is room, and in it a
 * database for each test. TEST_POSTGRES_URL names a server to use instead: it gets databases that go with their tests.
 */
import type { ChildProcess } from 'node:child_process'
import { execFileSync, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { cpSync, existsSync, globSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { Client } from 'pg'
import type { Test } from 'tap'
import { freePort } from './free-port.ts'
import { findProgram, missingProgram } from './real-parts.ts'
import { place, temporaryFolder } from './temporary-folder.ts'

const root = join(import.meta.dirname, '../..')

export interface TestPostgres {
  /** The URL of a database that nobody else has; gone with the test. `empty`: without the tables that the service would make. */
  database(t: Test, options?: { readonly empty?: boolean }): Promise<string>
}

export interface TestCluster extends TestPostgres {
  readonly host: string
  /** Ends it as a crash does, without writing anything down; `start` brings it back on the same port. */
  crash(): Promise<void>
  start(): Promise<void>
}

/** Makes the tables; done once for a server, and copied for each test. */
export type Furnish = (url: string) => Promise<void>

/** Undefined where there is none to be had: the test has skipped then, or failed on CI. */
export async function postgresFor(t: Test, furnish: Furnish): Promise<TestPostgres | undefined> {
  const given = process.env['TEST_POSTGRES_URL']
  return given === undefined ? clusterFor(t, furnish) : new Databases(t, given, furnish)
}

/** One that may be killed. `durable` where what was committed must outlive that. */
export async function clusterFor(
  t: Test,
  furnish: Furnish,
  { durable = false }: { readonly durable?: boolean } = {},
): Promise<TestCluster | undefined> {
  const bin = binaries()
  if (bin === undefined) {
    missingProgram(t, 'postgres')
    return undefined
  }
  const folder = join(temporaryFolder(t), 'cluster')
  execFileSync('cp', ['-R', keptCluster(bin), folder])
  hand(dirname(folder))
  const cluster = new Cluster(t, bin, folder, await freePort(), furnish, durable)
  await cluster.start()
  return cluster
}

/** Databases on one server, each a copy of one that has the tables. */
class Databases implements TestPostgres {
  readonly #t: Test
  readonly #url: string
  readonly #furnish: Furnish
  #furnished: Promise<string> | undefined

  constructor(t: Test, url: string, furnish: Furnish) {
    this.#t = t
    this.#url = url
    this.#furnish = furnish
  }

  async database(t: Test, { empty = false } = {}): Promise<string> {
    const template = empty ? 'template0' : await (this.#furnished ??= this.#make(this.#t, 'template0', this.#furnish))
    return urlOf(this.#url, await this.#make(t, template))
  }

  async #make(t: Test, template: string, furnish?: Furnish): Promise<string> {
    const name = `svc_test_${randomUUID().replaceAll('-', '')}`
    await inDatabase(this.#url, `create database ${name} template ${template}`)
    // A server that is ours goes as a whole.
    if (process.env['TEST_POSTGRES_URL'] !== undefined)
      t.teardown(() => inDatabase(this.#url, `drop database ${name} with (force)`))
    await furnish?.(urlOf(this.#url, name))
    return name
  }
}

class Cluster implements TestCluster {
  readonly host: string
  readonly #port: number
  readonly #bin: string
  readonly #folder: string
  readonly #durable: boolean
  readonly #databases: Databases
  readonly #guardian: ChildProcess
  #server: ChildProcess | undefined

  constructor(t: Test, bin: string, folder: string, port: number, furnish: Furnish, durable: boolean) {
    this.#bin = bin
    this.#folder = folder
    this.#port = port
    this.host = `127.0.0.1:${port}`
    this.#durable = durable
    this.#databases = new Databases(t, `postgres://postgres@${this.host}/postgres`, furnish)
    // A test that is killed leaves neither a server nor its files behind.
    const farewell = 'cat; [ -f "$0/postmaster.pid" ] && kill -QUIT $(head -n 1 "$0/postmaster.pid"); rm -rf "$(dirname "$0")"'
    this.#guardian = spawn('sh', ['-c', farewell, folder], { stdio: ['pipe', 'ignore', 'ignore'], detached: true })
    this.#guardian.unref()
    t.teardown(async () => {
      await this.crash()
      this.#guardian.stdin?.end()
    })
  }

  database(t: Test, options?: { readonly empty?: boolean }): Promise<string> {
    return this.#databases.database(t, options)
  }

  async start(): Promise<void> {
    const settings = {
      listen_addresses: '127.0.0.1',
      unix_socket_directories: '',
      max_connections: 200,
      shared_buffers: '32MB',
      fsync: this.#durable ? 'on' : 'off',
      full_page_writes: this.#durable ? 'on' : 'off',
      autovacuum: 'off',
      // Nothing that works in the background and is not asked for.
      max_worker_processes: 2,
      max_logical_replication_workers: 0,
    }
    const options = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
    const server = spawn(join(this.#bin, 'postgres'), ['-D', this.#folder, '-p', `${this.#port}`, ...options], {
      stdio: ['ignore', 'ignore', 'pipe'],
      ...asPostgres(),
    })
    this.#server = server
    const said: string[] = []
    const lines = createInterface({ input: server.stderr })
    await new Promise<void>((resolve, reject) => {
      lines.on('line', (line) => {
        said.push(line)
        if (line.includes('ready to accept connections')) resolve()
      })
      server.once('error', reject)
      server.once('exit', () => reject(new Error(`PostgreSQL did not start:\n${said.join('\n')}`)))
    })
    // What it says later is of no interest, and must keep nobody waiting.
    lines.close()
    server.stderr.resume()
    server.unref()
  }

  async crash(): Promise<void> {
    const server = this.#server
    this.#server = undefined
    if (server === undefined || server.exitCode !== null) return
    const gone = once(server, 'exit')
    server.ref()
    server.kill('SIGQUIT')
    await gone
  }
}

/** Made once for a version of PostgreSQL: making one costs twenty times what copying does. */
function keptCluster(bin: string): string {
  const version = /\d+\.\d+/.exec(execFileSync(join(bin, 'postgres'), ['--version'], { encoding: 'utf8' }))?.[0] ?? ''
  const kept = join(root, '.tap', `postgres-${version}`)
  if (existsSync(kept)) return kept
  const draft = mkdtempSync(join(place, 'svc-gateway-postgres-'))
  hand(draft)
  execFileSync(
    join(bin, 'initdb'),
    ['-D', draft, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale=C', '--wal-segsize=1', '-N', '--no-instructions'],
    { stdio: 'pipe', ...asPostgres() },
  )
  mkdirSync(dirname(kept), { recursive: true })
  const copy = mkdtempSync(`${kept}-`)
  cpSync(draft, copy, { recursive: true })
  rmSync(draft, { recursive: true })
  try {
    renameSync(copy, kept)
  } catch {
    // Somebody made the same at the same time.
    rmSync(copy, { recursive: true })
  }
  return kept
}

/** PostgreSQL refuses to be root: there it is the user that its package made. */
function asPostgres(): { readonly uid?: number; readonly gid?: number } {
  if (process.getuid?.() !== 0) return {}
  const id = (kind: '-u' | '-g') => Number(execFileSync('id', [kind, 'postgres'], { encoding: 'utf8' }))
  return { uid: id('-u'), gid: id('-g') }
}

function hand(folder: string): void {
  const { uid, gid } = asPostgres()
  if (uid !== undefined) execFileSync('chown', ['-R', `${uid}:${gid}`, folder])
  execFileSync('chmod', ['-R', 'go-rwx', folder])
}

/** Where its programs are; Debian has a folder for each version, and none of them on the PATH. */
function binaries(): string | undefined {
  const [newest] = globSync('/usr/lib/postgresql/*/bin/postgres').toSorted((one, other) => version(other) - version(one))
  const found = newest ?? findProgram('postgres')
  return found && dirname(found)
}

function version(path: string): number {
  return Number(/postgresql\/(\d+)/.exec(path)?.[1])
}

async function inDatabase(url: string, statement: string): Promise<void> {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    await client.query(statement)
  } finally {
    await client.end()
  }
}

function urlOf(server: string, database: string): string {
  const url = new URL(server)
  url.pathname = `/${database}`
  return url.href
}
