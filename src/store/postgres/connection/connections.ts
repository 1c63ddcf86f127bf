/**
 * A small pool of connections to the server that accepts writes, wherever it is at present; of several, to the one with the highest timeline. Sessions have no state except
 * settings; behind a pooler, which runs each transaction in any free session, the settings are sent with each transaction
 * instead. A connection that failed for any other reason than its statement is discarded.
 */
import { systemClock } from '../../../system/clock.ts'
import type { ClientBase, PoolClient, QueryConfig, QueryResult } from 'pg'
import { Pool, types } from 'pg'
import { GatewayError } from '../../../errors.ts'
import {
  createPoolerTimeoutError,
  isReadTimeout,
  toCallerError,
  isTransactionConflict,
  isConnectionLost,
  isStatementError,
  isReadOnlyServer,
  lacksConnection,
} from './errors.ts'
import { findWritableHosts } from './examine-hosts.ts'
import { parseHosts } from './hosts.ts'
import { admitServer, describeRefusal, readIdentity, RefusedServerError, SeenDatabase } from './seen-database.ts'
import type { ServerIdentity } from './seen-database.ts'

/** For statements that are independent of other rows, so that they only wait for locks. */
export const readCommitted = 'begin isolation level read committed'

export interface ConnectionsOptions {
  readonly url: string
  /** Maximum number of connections. */
  readonly max: number
  /** How long to look for a server that accepts writes, from the first failure on; default 3 s. */
  readonly timeoutMs?: number
  /** Statement timeout on the server; default 5 s. */
  readonly statementTimeoutMs?: number
  /** Further settings of each session, for the query planner. */
  readonly settings?: Readonly<Record<string, string>>
  /** What the process has used; default: nothing yet. */
  readonly seen?: SeenDatabase
}

interface ConnectionStats {
  readonly open: number
  /** Callers that wait for a connection. */
  readonly waiting: number
  /** How often a transaction was repeated because of a conflict. */
  readonly retries: number
}

const defaultTimeoutMs = 3_000
const defaultStatementTimeoutMs = 5_000
const connectTimeoutMs = 2_000
const idleTimeoutMs = 60_000
const maxRetryDelayMs = 100
const maxAttempts = 20

export class Connections {
  readonly #hosts: readonly string[]
  readonly #options: Required<Omit<ConnectionsOptions, 'url' | 'seen'>>
  readonly #seen: SeenDatabase
  /** Of each session whose server tells it. */
  readonly #identities = new WeakMap<ClientBase, ServerIdentity>()
  /** The other hosts are asked once for each pool, before its first session is used. */
  readonly #comparisons = new WeakMap<Pool, Promise<unknown>>()
  /** Settings of a session, or of each transaction behind a pooler. */
  readonly #settings: Readonly<Record<string, string>>
  readonly #pooled = new WeakSet<ClientBase>()
  #isPooled = false
  #usesNames = true
  #hostIndex = 0
  #pool: Pool
  readonly #poolByClient = new WeakMap<PoolClient, Pool>()
  readonly #closing = new Set<Promise<void>>()
  #retries = 0
  #isClosed = false

  constructor({
    url,
    max,
    timeoutMs = defaultTimeoutMs,
    statementTimeoutMs = defaultStatementTimeoutMs,
    settings = {},
    seen = new SeenDatabase(),
  }: ConnectionsOptions) {
    this.#hosts = parseHosts(url)
    this.#seen = seen
    this.#options = { max, timeoutMs, statementTimeoutMs, settings }
    const timeouts = ['statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout']
    this.#settings = { ...settings, ...Object.fromEntries(timeouts.map((name) => [name, String(statementTimeoutMs)])) }
    this.#pool = this.#createPool(0)
  }

  /** Runs a read. If the connection is lost, the read is repeated on another one, at least once. */
  async read(text: string, values: readonly unknown[]): Promise<QueryResult> {
    let deadline: AbortSignal | undefined
    for (;;) {
      try {
        return await this.#runStatement(text, values)
      } catch (error) {
        // The search for a server has failed already; a retry would repeat it.
        const isFinal = error instanceof GatewayError || deadline?.aborted === true
        if (isFinal || !isConnectionLost(error)) throw toCallerError(error)
        deadline ??= systemClock.deadline(this.#options.timeoutMs)
      }
    }
  }

  /** Runs one statement as a transaction of its own, in one round trip. */
  write(begin: string, text: string, values: readonly unknown[]): Promise<QueryResult> {
    return this.retryOnConflict(async () => {
      const client = await this.acquire()
      return this.#releaseAfter(client, this.#transact(client, begin, { text, values: replaceNulCharacters(values) }))
    })
  }

  /** Begins a transaction on an acquired connection. */
  begin(client: PoolClient, statement = 'begin'): Promise<unknown> {
    if (!this.#pooled.has(client)) return client.query(statement)
    const settings = Object.entries(this.#settings).map(([name, value]) => `set local ${name} = ${value}`)
    return client.query([statement, ...settings].join('; '))
  }

  /** Runs one statement that is a transaction by itself, on an acquired connection. */
  runAlone(client: PoolClient, statement: QueryConfig): Promise<QueryResult> {
    return this.#pooled.has(client) ? this.#transact(client, 'begin', statement) : this.query(client, statement)
  }

  /** Runs one statement on an acquired connection. */
  query(client: PoolClient, statement: QueryConfig | string): Promise<QueryResult> {
    if (this.#usesNames || typeof statement === 'string') return client.query(statement)
    const { name: _, ...unnamed } = statement
    return client.query(unnamed)
  }

  get usesStatementNames(): boolean {
    return this.#usesNames
  }

  /** From now on statements are sent without their names, which costs the server time to plan: a pooler does not keep them. */
  disableStatementNames(): void {
    this.#usesNames = false
  }

  /** Repeats `work`, which must be one whole transaction, after a conflict with another transaction. */
  async retryOnConflict<Result>(work: () => Promise<Result>): Promise<Result> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await work()
      } catch (error) {
        if (attempt === maxAttempts || !(isTransactionConflict(error) || isReadOnlyServer(error))) throw toCallerError(error)
        this.#retries += 1
        // A random delay, so that the same transactions do not meet again.
        await systemClock.wait(Math.random() * Math.min(2 ** attempt, maxRetryDelayMs))
      }
    }
  }

  /** Returns a connection that must be released. @throws the error for the caller, after looking for a server until the timeout */
  async acquire(): Promise<PoolClient> {
    let deadline: AbortSignal | undefined
    for (let attempt = 1; ; attempt += 1) {
      const pool = this.#pool
      try {
        const client = await pool.connect()
        this.#poolByClient.set(client, pool)
        this.#assertNotReplaced(client)
        return client
      } catch (error) {
        // A full pool is no reason to switch the host.
        const isFull = pool.totalCount >= this.#options.max && !(error instanceof RefusedServerError)
        const isRefused = lacksConnection(error)
        if (this.#isClosed || isFull || !(isRefused || isConnectionLost(error))) throw toCallerError(error)
        // Open connections to a server or pooler that accepts no further ones still work.
        if (!isRefused || pool.totalCount === 0) this.#switchHost(pool)
        // Each host is tried and one of them again, however long one did not respond.
        if (attempt > this.#hosts.length && deadline?.aborted === true) throw toCallerError(error)
        deadline ??= systemClock.deadline(this.#options.timeoutMs)
        if (attempt % this.#hosts.length === 0) await systemClock.wait(maxRetryDelayMs)
      }
    }
  }

  /** How many hosts accept writes at present. More than one: an old primary has come back. */
  async countWritableHosts(): Promise<number> {
    // A single host is the one that is used.
    return this.#hosts.length === 1 ? 1 : (await findWritableHosts(this.#hosts, this.#seen)).length
  }

  /** @throws RefusedServerError if a host with a higher timeline was seen since the session began */
  #assertNotReplaced(client: PoolClient): void {
    const [identity, seenServer] = [this.#identities.get(client), this.#seen.current]
    if (identity === undefined || seenServer === null) return
    if (identity.systemIdentifier === seenServer.systemIdentifier && identity.timeline >= seenServer.timeline) return
    client.release(true)
    throw describeRefusal(identity, seenServer)
  }

  release(client: PoolClient, error?: unknown): void {
    const isReusable = error === undefined || isStatementError(error)
    client.release(!isReusable)
    const pool = this.#poolByClient.get(client)
    if (!isReusable && pool !== undefined && isConnectionLost(error)) this.#switchHost(pool)
  }

  /** Whether there is a pooler between this process and the server; determined at the first connection. */
  get isPooled(): boolean {
    return this.#isPooled
  }

  get stats(): ConnectionStats {
    return { open: this.#pool.totalCount, waiting: this.#pool.waitingCount, retries: this.#retries }
  }

  /** Later calls fail. */
  async close(): Promise<void> {
    this.#isClosed = true
    await Promise.all([this.#pool.end(), ...this.#closing])
  }

  async #runStatement(text: string, values: readonly unknown[]): Promise<QueryResult> {
    const client = await this.acquire()
    return this.#releaseAfter(client, this.runAlone(client, { text, values: replaceNulCharacters(values) }))
  }

  /** Releases a connection that was acquired for one statement. */
  async #releaseAfter(client: PoolClient, pending: Promise<QueryResult>): Promise<QueryResult> {
    try {
      const result = await pending
      this.release(client)
      return result
    } catch (error) {
      this.release(client, error)
      throw error
    }
  }

  async #transact(client: PoolClient, begin: string, statement: QueryConfig): Promise<QueryResult> {
    const [, result, end] = await Promise.allSettled([
      this.begin(client, begin),
      this.query(client, statement),
      client.query('commit'),
    ])
    if (result.status === 'fulfilled' && end.status === 'fulfilled' && end.value.command === 'COMMIT') return result.value
    const rejection = [result, end].find((answer) => answer.status === 'rejected')
    throw rejection?.reason ?? new Error('the transaction was rolled back')
  }

  /** All connections of a pool go to one server. When one of them is lost, the others are as well. */
  #switchHost(failed: Pool): void {
    if (failed !== this.#pool || this.#isClosed) return
    this.#hostIndex = (this.#hostIndex + 1) % this.#hosts.length
    this.#pool = this.#createPool(this.#hostIndex)
    const closure = failed.end().finally(() => this.#closing.delete(closure))
    this.#closing.add(closure)
  }

  /** A pooler reports another backend process id than the server does. Behind one, the settings last only for this statement. */
  async #initializeSession(client: ClientBase): Promise<void> {
    const { processID } = client as ClientBase & { readonly processID?: number | null }
    const isPooled = `pg_backend_pid() <> ${processID ?? 0}`
    const settings = Object.entries(this.#settings).map(([name, value]) => `set_config('${name}', '${value}', ${isPooled})`)
    const query = `select current_setting('transaction_read_only') = 'off' as takes_writes, ${isPooled} as is_pooled, ${settings.join(', ')}`
    const { rows } = await client.query<{ takes_writes: boolean; is_pooled: boolean }>(query).catch((error: unknown) => {
      throw isReadTimeout(error) ? createPoolerTimeoutError(error) : error
    })
    if (rows[0]?.takes_writes !== true) throw new Error('the server accepts no writes')
    this.#isPooled = rows[0].is_pooled
    if (this.#isPooled) this.#pooled.add(client)
  }

  /** @throws RefusedServerError for an old primary, or another database cluster */
  async #admitServer(client: ClientBase, pool: Pool, index: number): Promise<void> {
    const identity = await readIdentity(client)
    if (identity === null) return
    await admitServer(client, identity, this.#seen)
    if (this.#hosts.length > 1) {
      const comparison = this.#comparisons.get(pool) ?? findWritableHosts(this.#hosts.toSpliced(index, 1), this.#seen)
      this.#comparisons.set(pool, comparison)
      await comparison
      await admitServer(client, identity, this.#seen)
    }
    this.#identities.set(client, identity)
  }

  #createPool(index: number): Pool {
    const { max, statementTimeoutMs } = this.#options
    const pool: Pool = new Pool({
      connectionString: this.#hosts[index],
      application_name: 'svc-gateway',
      max: max,
      connectionTimeoutMillis: connectTimeoutMs,
      // Each new connection costs the server a process.
      idleTimeoutMillis: idleTimeoutMs,
      // Longer than the server's own timeout: for a server that has disappeared.
      query_timeout: statementTimeoutMs * 2,
      keepAlive: true,
      pipeline: true,
      types: { getTypeParser: getTypeParser },
      onConnect: async (client) => {
        // The pending statement reports the error; an unhandled event would end the process.
        client.on('error', () => undefined)
        await this.#initializeSession(client)
        await this.#admitServer(client, pool, index)
      },
    })
    // An idle connection was lost; the next statement finds out why.
    pool.on('error', () => undefined)
    return pool
  }
}

/**
 * PostgreSQL text cannot contain NUL: it is replaced by U+FFFD, which no valid value contains, so no statement fails and nothing
 * matches.
 */
export function replaceNulCharacters(values: readonly unknown[]): unknown[] {
  return values.map((value) => (typeof value === 'string' && value.includes('\0') ? value.replaceAll('\0', '\uFFFD') : value))
}

const int8 = types.builtins.INT8
const numeric = types.builtins.NUMERIC

/** 64-bit integers hold amounts, instants and ids. Beyond the range of exact numbers they are refused, never rounded. */
const getTypeParser: typeof types.getTypeParser = (oid: number, format?: 'text' | 'binary') =>
  format !== 'binary' && (oid === int8 || oid === numeric) ? parseSafeInteger : types.getTypeParser(oid, format as 'text')

function parseSafeInteger(text: string): number {
  const number = Number(text)
  if (!Number.isSafeInteger(number)) throw new RangeError(`${text} is not an integer that can be represented exactly`)
  return number
}
