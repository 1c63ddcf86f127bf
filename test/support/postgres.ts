/**
 * A real PostgreSQL for one test file: a cluster of its own, copied from one that is kept, in memory where there is room, and in it a
 * database for each test. TEST_POSTGRES_URL names a server to use instead: it gets databases that go with their tests.
 */
import { execFile, execFileSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { cpSync, existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { Client } from 'pg'
import { freePort } from './free-port.ts'
import { asPostgres, binaries, hand, PostgresServer } from './postgres-server.ts'
import { missingProgram } from './real-parts.ts'
import type { Scope } from './scope.ts'
import { place, temporaryFolder } from './temporary-folder.ts'

const root = join(import.meta.dirname, '../..')

export interface TestPostgres {
  /** The URL of a database that nobody else has; gone with the test. `empty`: without the tables that the service would make. */
  database(t: Scope, options?: { readonly empty?: boolean }): Promise<string>
}

export interface TestCluster extends TestPostgres {
  readonly host: string
  /** Undefined while it is down. */
  readonly pid: number | undefined
  /** Ends it as a crash does, without writing anything down; `start` brings it back on the same port. */
  crash(): Promise<void>
  start(): Promise<void>
  /** Stopped it takes connections and answers nothing. */
  pause(): void
  goOn(): void
  /** Another server that has all that this one has, and without which this one acknowledges nothing from then on. */
  standby(): Promise<TestStandby>
}

export interface TestStandby {
  readonly host: string
  readonly pid: number | undefined
  /** Takes writes from then on. */
  promote(): Promise<void>
  /** Ends it as a crash does. */
  crash(): Promise<void>
}

/** Makes the tables; done once for a server, and copied for each test. */
export type Furnish = (url: string) => Promise<void>

/** Undefined where there is none to be had: the test has skipped then, or failed on CI. */
export async function postgresFor(t: Scope, furnish: Furnish): Promise<TestPostgres | undefined> {
  const given = process.env['TEST_POSTGRES_URL']
  return given === undefined ? clusterFor(t, furnish) : new Databases(t, given, furnish)
}

/** One that may be killed. `durable` where what was committed must outlive that; `within` where its files lie, if not in memory. */
export async function clusterFor(
  t: Scope,
  furnish: Furnish,
  { durable = false, within }: { readonly durable?: boolean; readonly within?: string } = {},
): Promise<TestCluster | undefined> {
  const bin = binaries()
  if (bin === undefined) {
    missingProgram(t, 'postgres')
    return undefined
  }
  const folder = join(temporaryFolder(t, within), 'cluster')
  execFileSync('cp', ['-R', keptCluster(bin), folder])
  hand(dirname(folder))
  const cluster = new Cluster(t, bin, folder, await freePort(), furnish, durable)
  await cluster.start()
  return cluster
}

/** Databases on one server, each a copy of one that has the tables. */
class Databases implements TestPostgres {
  readonly #t: Scope
  readonly #url: string
  readonly #furnish: Furnish
  #furnished: Promise<string> | undefined

  constructor(t: Scope, url: string, furnish: Furnish) {
    this.#t = t
    this.#url = url
    this.#furnish = furnish
  }

  async database(t: Scope, { empty = false } = {}): Promise<string> {
    const template = empty ? 'template0' : await (this.#furnished ??= this.#make(this.#t, 'template0', this.#furnish))
    return urlOf(this.#url, await this.#make(t, template))
  }

  async #make(t: Scope, template: string, furnish?: Furnish): Promise<string> {
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
  readonly #t: Scope
  readonly #bin: string
  readonly #server: PostgresServer
  readonly #durable: boolean
  readonly #databases: Databases

  constructor(t: Scope, bin: string, folder: string, port: number, furnish: Furnish, durable: boolean) {
    this.#t = t
    this.#bin = bin
    this.#durable = durable
    this.#server = new PostgresServer(t, { bin, folder, port, durable })
    this.host = this.#server.host
    this.#databases = new Databases(t, this.#server.urlOf('postgres'), furnish)
  }

  get pid(): number | undefined {
    return this.#server.pid
  }

  database(t: Scope, options?: { readonly empty?: boolean }): Promise<string> {
    return this.#databases.database(t, options)
  }

  start(): Promise<void> {
    return this.#server.start()
  }

  crash(): Promise<void> {
    return this.#server.crash()
  }

  pause(): void {
    this.#server.pause()
  }

  goOn(): void {
    this.#server.goOn()
  }

  async standby(): Promise<TestStandby> {
    const folder = join(temporaryFolder(this.#t), 'standby')
    hand(dirname(folder))
    const url = this.#server.urlOf('postgres')
    const words = ['-D', folder, '-d', url, '--write-recovery-conf', '--wal-method=stream', '--checkpoint=fast']
    // Not `execFileSync`: who is to be copied may have something to say to this process.
    await promisify(execFile)(join(this.#bin, 'pg_basebackup'), words, asPostgres())
    const server = new PostgresServer(this.#t, { bin: this.#bin, folder, port: await freePort(), durable: this.#durable })
    await server.start()
    // After the copy, so that the standby waits for nobody once it is the primary.
    await inDatabase(url, `alter system set synchronous_standby_names = '*'`)
    await inDatabase(url, 'select pg_reload_conf()')
    return {
      host: server.host,
      get pid() {
        return server.pid
      },
      promote: () => inDatabase(server.urlOf('postgres'), 'select pg_promote()'),
      crash: () => server.crash(),
    }
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

/** One statement, on a connection of its own, to the first of these servers that takes writes. */
export async function queryOn(urls: readonly string[], statement: string): Promise<readonly Readonly<Record<string, unknown>>[]> {
  for (const url of urls) {
    const client = new Client({ connectionString: url })
    // A server that ends says so to those who are connected, and unheard that would end this process.
    client.on('error', () => undefined)
    try {
      await client.connect()
      const { rows } = await client.query('select pg_is_in_recovery() as follows')
      if (rows[0].follows === false) return (await client.query(statement)).rows
    } catch (error) {
      if (url === urls.at(-1)) throw error
    } finally {
      await client.end().catch(() => undefined)
    }
  }
  throw new Error('no server takes writes')
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
