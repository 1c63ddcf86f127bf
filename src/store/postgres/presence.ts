/**
 * Which nodes are alive, by the database's clock alone: each says every few seconds that it will be for a while. No node's wall clock is
 * asked, and no lock of a session, which would vanish with the server that keeps it, and make every node look dead at a failover.
 */
import { alone } from './connections.ts'
import type { Connections } from './connections.ts'

/**
 * How long a node counts as alive after it was last heard of, and how often it makes itself heard. What it holds is given back within twenty
 * seconds of its death, and stays its own through fifteen without a word.
 */
export const aliveMs = 17_000
export const renewEveryMs = 2_000

export interface Node {
  readonly id: number
  readonly name: string
}

export interface PresenceOptions {
  /** Of its own: waiting for another's statement must not make a node look dead. */
  readonly connections: Connections
  /** New for every start. */
  readonly name: string
  readonly version: string
  /** `ticks` only ever goes on, in milliseconds. */
  readonly clock: { now(): number; ticks(): number }
  /** Hears the new number where the old one was given up for dead. */
  readonly onNumber?: (id: number) => void
  /** Hears why a renewal failed; the next one is tried in time. */
  readonly onFault?: (error: unknown) => void
}

const lease = `clock_timestamp() + ${aliveMs} * interval '1 ms'`
const databaseNow = '(extract(epoch from clock_timestamp()) * 1000)::bigint as now'
const othersAlive =
  'select count(*) from process others where others.id <> process.id and others.alive_until >= clock_timestamp()'

/** Of a command that works beside the nodes: it holds nothing, and nobody waits for it to be heard of. */
export const guest: Attendance = {
  id: 0,
  isAlive: true,
  nodes: 0,
  clockAheadMs: 0,
  dead: async () => [],
  forget: async () => {},
  leave: async () => {},
}

/** A node's being there, as the rest of the store knows it. */
export type Attendance = Pick<Presence, 'id' | 'isAlive' | 'nodes' | 'clockAheadMs' | 'dead' | 'forget' | 'leave'>

export class Presence {
  readonly #options: PresenceOptions
  #id = 0
  /** How often it was given up for dead, and came back under another name. */
  #lives = 0
  #renewedAt = -Infinity
  /** Since when it has renewed without a gap. */
  #steadySince = 0
  #clockAheadMs = 0
  #nodes = 1
  #timer: NodeJS.Timeout | undefined
  #renewing: Promise<void> | undefined

  private constructor(options: PresenceOptions) {
    this.#options = options
  }

  static async enrol(options: PresenceOptions): Promise<Presence> {
    const presence = new Presence(options)
    await presence.#enrol()
    presence.#timer = setInterval(() => void presence.renew(), renewEveryMs).unref()
    return presence
  }

  /** By which holds name this node. */
  get id(): number {
    return this.#id
  }

  /** False from the moment on at which others may have given it up: it must not hold anything then. */
  get isAlive(): boolean {
    return this.#options.clock.ticks() - this.#renewedAt < aliveMs
  }

  /** How far this node's wall clock is ahead of the database's, as of the last renewal. */
  get clockAheadMs(): number {
    return this.#clockAheadMs
  }

  /** How many were alive at the last renewal, this one among them. */
  get nodes(): number {
    return this.#nodes
  }

  /** Says that it is alive; what goes wrong is for the next time. */
  renew(): Promise<void> {
    this.#renewing ??= this.#renew()
      .catch((error: unknown) => this.#options.onFault?.(error))
      .finally(() => (this.#renewing = undefined))
    return this.#renewing
  }

  /**
   * Nodes that were not heard of in time. None as long as this one was not heard of itself without a gap for as long: after an outage of the
   * database all have the same time to come back.
   */
  async dead(): Promise<readonly Node[]> {
    const { connections, clock } = this.#options
    if (!this.isAlive || clock.ticks() - this.#steadySince < aliveMs) return []
    // What a dead node had sent may come late, when it is forgotten already.
    const { rows } = await connections.read(
      `select id, name from process where alive_until < clock_timestamp()
      union all select distinct owner, '' from turn where state = 'held' and not exists (select from process where id = owner)
      order by id`,
      [],
    )
    return rows as Node[]
  }

  /** Once nothing of it is left. One that has come to life again has another number by then. */
  async forget({ id }: Node): Promise<void> {
    await this.#options.connections.write(alone, 'delete from process where id = $1 and alive_until < clock_timestamp()', [id])
  }

  /** How many are alive, this one among them. */
  async alive(): Promise<number> {
    const { rows } = await this.#options.connections.read(
      'select count(*) as alive from process where alive_until >= clock_timestamp()',
      [],
    )
    return Number(rows[0]?.alive ?? 1)
  }

  /** From now on it is dead, so that what it still holds is given back by another at once. */
  async leave(): Promise<void> {
    clearInterval(this.#timer)
    await this.#renewing
    this.#renewedAt = -Infinity
    await this.#options.connections.write(alone, 'update process set alive_until = clock_timestamp() where id = $1', [this.#id])
  }

  async #renew(): Promise<void> {
    const { connections } = this.#options
    const asked = this.#asked()
    const { rows } = await connections.write(
      alone,
      `update process set alive_until = ${lease} where id = $1 and alive_until >= clock_timestamp() returning ${databaseNow}, (${othersAlive}) as others`,
      [this.#id],
    )
    if (rows[0] === undefined) await this.#enrol()
    else this.#renewed(asked, rows[0])
  }

  async #enrol(): Promise<void> {
    const { connections, name, version, onNumber } = this.#options
    const asked = this.#asked()
    const { rows } = await connections.write(
      alone,
      `insert into process (name, version, alive_until) values ($1, $2, ${lease}) returning id, ${databaseNow}, (${othersAlive}) as others`,
      [this.#lives === 0 ? name : `${name}~${this.#lives}`, version],
    )
    this.#lives += 1
    this.#id = rows[0].id
    this.#renewed(asked, rows[0])
    if (this.#lives > 1) onNumber?.(this.#id)
  }

  #asked(): { readonly now: number; readonly ticks: number } {
    const { clock } = this.#options
    return { now: clock.now(), ticks: clock.ticks() }
  }

  /** It counts from when it was asked: the answer may have been long on its way. */
  #renewed(
    asked: { readonly now: number; readonly ticks: number },
    { now, others }: { readonly now: number; readonly others: number },
  ): void {
    const { clock } = this.#options
    if (asked.ticks - this.#renewedAt > 2 * renewEveryMs) this.#steadySince = asked.ticks
    this.#renewedAt = asked.ticks
    this.#clockAheadMs = (asked.now + clock.now()) / 2 - now
    this.#nodes = others + 1
  }
}
