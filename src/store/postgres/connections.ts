/**
 * A few connections to the server that takes writes, wherever that is now. Nothing is kept in a session but its settings, and behind a pooler,
 * which gives each transaction whatever session is free, they are said with each transaction instead. A connection that failed in any other
 * way than by its statement is thrown away.
 */
import { setTimeout as after } from 'node:timers/promises'
import type { ClientBase, PoolClient, QueryConfig, QueryResult } from 'pg'
import { Pool, types } from 'pg'
import { GatewayError } from '../../errors.ts'
import { toCaller, isConflict, isLost, isOfTheStatement, isReadOnly } from './failures.ts'
import { hostsOf } from './hosts.ts'

/** For statements each of which stands by itself: nothing depends on another row, and they merely wait for others. */
export const alone = 'begin isolation level read committed'

export interface ConnectionsOptions {
  readonly url: string
  /** How many connections at most. */
  readonly most: number
  /** How long to look for a server that takes writes, default 3 s. */
  readonly patienceMs?: number
  /** After how long the server gives up a statement, default 5 s. */
  readonly statementMs?: number
  /** Of each connection's session, besides: how statements are planned. */
  readonly settings?: Readonly<Record<string, string>>
}

export interface ConnectionFigures {
  readonly open: number
  /** Who wait for one. */
  readonly waiting: number
  /** How often a transaction was done again because another came in its way. */
  readonly repeated: number
}

const defaultPatienceMs = 3_000
const defaultStatementMs = 5_000
const connectMs = 2_000
const idleMs = 60_000
const pauseMs = 100
const mostTries = 20

export class Connections {
  readonly #hosts: readonly string[]
  readonly #options: Required<Omit<ConnectionsOptions, 'url'>>
  /** Of a session, or of each transaction. */
  readonly #settings: Readonly<Record<string, string>>
  readonly #pooled = new WeakSet<ClientBase>()
  #isPooled = false
  #at = 0
  #pool: Pool
  readonly #poolOf = new WeakMap<PoolClient, Pool>()
  readonly #leaving = new Set<Promise<void>>()
  #repeated = 0
  #isClosed = false

  constructor({
    url,
    most,
    patienceMs = defaultPatienceMs,
    statementMs = defaultStatementMs,
    settings = {},
  }: ConnectionsOptions) {
    this.#hosts = hostsOf(url)
    this.#options = { most, patienceMs, statementMs, settings }
    const timeouts = ['statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout']
    this.#settings = { ...settings, ...Object.fromEntries(timeouts.map((name) => [name, String(statementMs)])) }
    this.#pool = this.#poolAt(0)
  }

  /** Reading twice does no harm: where a connection is lost, it is done again on another, at least once. */
  async read(text: string, values: readonly unknown[]): Promise<QueryResult> {
    const until = performance.now() + this.#options.patienceMs
    for (let tries = 1; ; tries += 1) {
      try {
        return await this.#ask(text, values)
      } catch (error) {
        // After looking for a server in vain there is nothing to try again.
        const isInVain = error instanceof GatewayError || (tries > 1 && performance.now() >= until)
        if (isInVain || !isLost(error)) throw toCaller(error)
      }
    }
  }

  /** One statement as a transaction of its own, in one trip. */
  write(begin: string, text: string, values: readonly unknown[]): Promise<QueryResult> {
    return this.repeated(async () => {
      const client = await this.take()
      return this.#given(client, this.#transact(client, begin, { text, values: textsOf(values) }))
    })
  }

  /** Begins a transaction on a connection that was taken. */
  begin(client: PoolClient, words = 'begin'): Promise<unknown> {
    if (!this.#pooled.has(client)) return client.query(words)
    const settings = Object.entries(this.#settings).map(([name, value]) => `set local ${name} = ${value}`)
    return client.query([words, ...settings].join('; '))
  }

  /** One statement that is a transaction by itself, on a connection that was taken. */
  alone(client: PoolClient, statement: QueryConfig): Promise<QueryResult> {
    return this.#pooled.has(client) ? this.#transact(client, 'begin', statement) : client.query(statement)
  }

  /** Does again what others came in the way of; `work` is a whole transaction, and nothing but it. */
  async repeated<Result>(work: () => Promise<Result>): Promise<Result> {
    for (let tries = 1; ; tries += 1) {
      try {
        return await work()
      } catch (error) {
        if (tries === mostTries || !(isConflict(error) || isReadOnly(error))) throw toCaller(error)
        this.#repeated += 1
        // Those who met do not meet again.
        await after(Math.random() * Math.min(2 ** tries, pauseMs))
      }
    }
  }

  /** To be given back. Throws what is for the caller, after looking for a server with patience. */
  async take(): Promise<PoolClient> {
    const until = performance.now() + this.#options.patienceMs
    for (let tries = 1; ; tries += 1) {
      const pool = this.#pool
      try {
        const client = await pool.connect()
        this.#poolOf.set(client, pool)
        return client
      } catch (error) {
        // A full pool is no reason to go elsewhere.
        const isFull = pool.totalCount >= this.#options.most
        if (this.#isClosed || isFull || !isLost(error)) throw toCaller(error)
        this.#moveOn(pool)
        // Each host is asked, however long one of them was silent.
        if (tries >= this.#hosts.length && performance.now() >= until) throw toCaller(error)
        if (tries % this.#hosts.length === 0) await after(pauseMs)
      }
    }
  }

  giveBack(client: PoolClient, error?: unknown): void {
    const isSound = error === undefined || isOfTheStatement(error)
    client.release(!isSound)
    const pool = this.#poolOf.get(client)
    if (!isSound && pool !== undefined && isLost(error)) this.#moveOn(pool)
  }

  /** Whether another program hands what is asked on to the server; known after the first answer. */
  get isPooled(): boolean {
    return this.#isPooled
  }

  get figures(): ConnectionFigures {
    return { open: this.#pool.totalCount, waiting: this.#pool.waitingCount, repeated: this.#repeated }
  }

  /** What is asked from now on fails. */
  async close(): Promise<void> {
    this.#isClosed = true
    await Promise.all([this.#pool.end(), ...this.#leaving])
  }

  async #ask(text: string, values: readonly unknown[]): Promise<QueryResult> {
    const client = await this.take()
    return this.#given(client, this.alone(client, { text, values: textsOf(values) }))
  }

  /** What was asked is all that the connection was taken for. */
  async #given(client: PoolClient, asked: Promise<QueryResult>): Promise<QueryResult> {
    try {
      const result = await asked
      this.giveBack(client)
      return result
    } catch (error) {
      this.giveBack(client, error)
      throw error
    }
  }

  async #transact(client: PoolClient, begin: string, statement: QueryConfig): Promise<QueryResult> {
    const [, done, end] = await Promise.allSettled([this.begin(client, begin), client.query(statement), client.query('commit')])
    if (done.status === 'fulfilled' && end.status === 'fulfilled' && end.value.command === 'COMMIT') return done.value
    const failed = [done, end].find((answer) => answer.status === 'rejected')
    throw failed?.reason ?? new Error('the transaction was undone')
  }

  /** All connections of a pool are to one server. When one of them finds it gone, the others are of no use either. */
  #moveOn(from: Pool): void {
    if (from !== this.#pool || this.#isClosed) return
    this.#at = (this.#at + 1) % this.#hosts.length
    this.#pool = this.#poolAt(this.#at)
    const left = from.end().finally(() => this.#leaving.delete(left))
    this.#leaving.add(left)
  }

  /** A pooler says another number for a session than the server does. There the settings are gone with this very statement. */
  async #begun(client: ClientBase): Promise<void> {
    const { processID } = client as ClientBase & { readonly processID?: number | null }
    const isPooled = `pg_backend_pid() <> ${processID ?? 0}`
    const settings = Object.entries(this.#settings).map(([name, value]) => `set_config('${name}', '${value}', ${isPooled})`)
    const { rows } = await client.query<{ takes_writes: boolean; is_pooled: boolean }>(
      `select current_setting('transaction_read_only') = 'off' as takes_writes, ${isPooled} as is_pooled, ${settings.join(', ')}`,
    )
    if (rows[0]?.takes_writes !== true) throw new Error('the server takes no writes')
    this.#isPooled = rows[0].is_pooled
    if (this.#isPooled) this.#pooled.add(client)
  }

  #poolAt(index: number): Pool {
    const { most, statementMs } = this.#options
    const pool = new Pool({
      connectionString: this.#hosts[index],
      application_name: 'svc-gateway',
      max: most,
      connectionTimeoutMillis: connectMs,
      // A new one costs the server a process.
      idleTimeoutMillis: idleMs,
      // Longer than the server takes to give up: this is for one that is not there any more.
      query_timeout: statementMs * 2,
      keepAlive: true,
      pipeline: true,
      types: { getTypeParser: parserOf },
      onConnect: async (client) => {
        // Whoever uses it is told by their statement; unheard, the event would end the process.
        client.on('error', () => undefined)
        await this.#begun(client)
      },
    })
    // An idle connection was lost; whoever takes the next one finds out what that means.
    pool.on('error', () => undefined)
    return pool
  }
}

/** PostgreSQL has no text with a NUL in it: as what is no character either, so that it is nobody's, and no statement fails. */
export function textsOf(values: readonly unknown[]): unknown[] {
  return values.map((value) => (typeof value === 'string' && value.includes('\0') ? value.replaceAll('\0', '\uFFFD') : value))
}

const int8 = types.builtins.INT8
const numeric = types.builtins.NUMERIC

/** Whole numbers of 64 bits are ours: amounts, instants, ids. Past what a number holds exactly they are refused, never rounded. */
const parserOf: typeof types.getTypeParser = (oid: number, format?: 'text' | 'binary') =>
  format !== 'binary' && (oid === int8 || oid === numeric) ? wholeNumber : types.getTypeParser(oid, format as 'text')

function wholeNumber(text: string): number {
  const number = Number(text)
  if (!Number.isSafeInteger(number)) throw new RangeError(`${text} is no whole number that can be reckoned with exactly`)
  return number
}
