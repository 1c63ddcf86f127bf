/**
 * A real PostgreSQL for one test file: its own cluster, copied from a cached one, in memory if there is room, with a
 * database for each test. TEST_POSTGRES_URL names a server to use instead; its test databases are dropped at the end.
 */
import { execFile, execFileSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { cpSync, existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { Client } from 'pg'
import { findFreePort } from '../../free-port.ts'
import { getPostgresUser, findPostgresBinaries, chownToPostgres, PostgresServer } from './postgres-server.ts'
import { skipWithoutProgram } from '../../require-program.ts'
import type { TestScope } from '../../test-scope.ts'
import { temporaryRoot, createTemporaryFolder } from '../../temporary-folder.ts'

const root = join(import.meta.dirname, '../../../..')

export interface TestPostgres {
  /** The URL of a new database, dropped with the test. `empty`: without the service's tables. */
  createDatabase(t: TestScope, options?: { readonly empty?: boolean }): Promise<string>
}

export interface TestPostgresServer extends TestPostgres {
  readonly host: string
  /** Undefined while it is down. */
  readonly pid: number | undefined
  /** Ends it like a crash, without writing anything; `start` starts it again on the same port. */
  crash(): Promise<void>
  start(): Promise<void>
  /** Starts it again after its standby was promoted, as a primary that waits for no standby. */
  startAsOldPrimary(): Promise<void>
  /** Suspended it accepts connections and answers nothing. */
  pause(): void
  resume(): void
  /** Starts a standby with all its data; from then on the primary acknowledges no commit without it. */
  startStandby(): Promise<TestStandby>
}

export interface TestStandby {
  readonly host: string
  readonly pid: number | undefined
  /** Promotes it to accept writes. */
  promote(): Promise<void>
  /** Ends it like a crash. */
  crash(): Promise<void>
}

/** Creates the tables once per server; each test gets a copy. */
export type PrepareSchema = (url: string) => Promise<void>

/** Undefined if PostgreSQL is not installed: the test is then skipped, or fails on CI. */
export async function providePostgres(t: TestScope, prepareSchema: PrepareSchema): Promise<TestPostgres | undefined> {
  const configuredUrl = process.env['TEST_POSTGRES_URL']
  return configuredUrl === undefined
    ? startPostgresServer(t, prepareSchema)
    : new DatabaseFactory(t, configuredUrl, prepareSchema)
}

/** A server that may be killed. `durable` if committed data must survive that; `within` is the folder of its files, if not in memory. */
export async function startPostgresServer(
  t: TestScope,
  prepareSchema: PrepareSchema,
  { durable = false, within: parentFolder }: { readonly durable?: boolean; readonly within?: string } = {},
): Promise<TestPostgresServer | undefined> {
  const bin = findPostgresBinaries()
  if (bin === undefined) {
    skipWithoutProgram(t, 'postgres')
    return undefined
  }
  const folder = join(createTemporaryFolder(t, parentFolder), 'cluster')
  execFileSync('cp', ['-R', getInitializedCluster(bin), folder])
  chownToPostgres(dirname(folder))
  const server = new OwnPostgresServer(t, bin, folder, await findFreePort(), prepareSchema, durable)
  await server.start()
  return server
}

/** Databases on one server, each a copy of a template with the tables. */
class DatabaseFactory implements TestPostgres {
  readonly #t: TestScope
  readonly #url: string
  readonly #prepareSchema: PrepareSchema
  #template: Promise<string> | undefined

  constructor(t: TestScope, url: string, prepareSchema: PrepareSchema) {
    this.#t = t
    this.#url = url
    this.#prepareSchema = prepareSchema
  }

  async createDatabase(t: TestScope, { empty = false } = {}): Promise<string> {
    const template = empty ? 'template0' : await (this.#template ??= this.#create(this.#t, 'template0', this.#prepareSchema))
    return toDatabaseUrl(this.#url, await this.#create(t, template))
  }

  async #create(t: TestScope, template: string, prepareSchema?: PrepareSchema): Promise<string> {
    const name = `svc_test_${randomUUID().replaceAll('-', '')}`
    await runStatement(this.#url, `create database ${name} template ${template}`)
    // An own server is removed as a whole.
    if (process.env['TEST_POSTGRES_URL'] !== undefined)
      t.teardown(() => runStatement(this.#url, `drop database ${name} with (force)`))
    await prepareSchema?.(toDatabaseUrl(this.#url, name))
    return name
  }
}

class OwnPostgresServer implements TestPostgresServer {
  readonly host: string
  readonly #t: TestScope
  readonly #bin: string
  readonly #server: PostgresServer
  readonly #durable: boolean
  readonly #databases: DatabaseFactory

  constructor(t: TestScope, bin: string, folder: string, port: number, prepareSchema: PrepareSchema, durable: boolean) {
    this.#t = t
    this.#bin = bin
    this.#durable = durable
    this.#server = new PostgresServer(t, { bin, folder, port, durable })
    this.host = this.#server.host
    this.#databases = new DatabaseFactory(t, this.#server.getUrl('postgres'), prepareSchema)
  }

  get pid(): number | undefined {
    return this.#server.pid
  }

  createDatabase(t: TestScope, options?: { readonly empty?: boolean }): Promise<string> {
    return this.#databases.createDatabase(t, options)
  }

  start(): Promise<void> {
    return this.#server.start()
  }

  startAsOldPrimary(): Promise<void> {
    rmSync(join(this.#server.folder, 'postgresql.auto.conf'))
    return this.#server.start()
  }

  crash(): Promise<void> {
    return this.#server.crash()
  }

  pause(): void {
    this.#server.pause()
  }

  resume(): void {
    this.#server.resume()
  }

  async startStandby(): Promise<TestStandby> {
    const folder = join(createTemporaryFolder(this.#t), 'standby')
    chownToPostgres(dirname(folder))
    const url = this.#server.getUrl('postgres')
    const args = ['-D', folder, '-d', url, '--write-recovery-conf', '--wal-method=stream', '--checkpoint=fast']
    // Not `execFileSync`, because the copied server may need this process to respond.
    await promisify(execFile)(join(this.#bin, 'pg_basebackup'), args, getPostgresUser())
    const server = new PostgresServer(this.#t, { bin: this.#bin, folder, port: await findFreePort(), durable: this.#durable })
    await server.start()
    // After the copy, so that the standby waits for no other server once it is the primary.
    await runStatement(url, `alter system set synchronous_standby_names = '*'`)
    await runStatement(url, 'select pg_reload_conf()')
    return {
      host: server.host,
      get pid() {
        return server.pid
      },
      promote: () => runStatement(server.getUrl('postgres'), 'select pg_promote()'),
      crash: () => server.crash(),
    }
  }
}

/** Created once per version of PostgreSQL, because creating a cluster costs twenty times as much as copying one. */
function getInitializedCluster(bin: string): string {
  const version = /\d+\.\d+/.exec(execFileSync(join(bin, 'postgres'), ['--version'], { encoding: 'utf8' }))?.[0] ?? ''
  const cached = join(root, '.tap', `postgres-${version}`)
  if (existsSync(cached)) return cached
  const draft = mkdtempSync(join(temporaryRoot, 'svc-gateway-postgres-'))
  chownToPostgres(draft)
  execFileSync(
    join(bin, 'initdb'),
    ['-D', draft, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale=C', '--wal-segsize=1', '-N', '--no-instructions'],
    { stdio: 'pipe', ...getPostgresUser() },
  )
  mkdirSync(dirname(cached), { recursive: true })
  const copy = mkdtempSync(`${cached}-`)
  cpSync(draft, copy, { recursive: true })
  rmSync(draft, { recursive: true })
  try {
    renameSync(copy, cached)
  } catch {
    // Another process created it at the same time.
    rmSync(copy, { recursive: true })
  }
  return cached
}

/** Runs one statement, on its own connection, on the first of these servers that accepts writes. */
export async function queryPrimary(
  urls: readonly string[],
  statement: string,
): Promise<readonly Readonly<Record<string, unknown>>[]> {
  for (const url of urls) {
    const client = new Client({ connectionString: url })
    // A stopping server sends an error to its clients, which unhandled would end this process.
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

async function runStatement(url: string, statement: string): Promise<void> {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    await client.query(statement)
  } finally {
    await client.end()
  }
}

function toDatabaseUrl(server: string, database: string): string {
  const url = new URL(server)
  url.pathname = `/${database}`
  return url.href
}
