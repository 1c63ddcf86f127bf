/**
 * Tells which nodes are alive, by leases that each node renews every few seconds, measured by the database's clock alone. Nodes'
 * wall clocks may be wrong, and a session's advisory lock would vanish with its server, so that every node would look dead after
 * a failover.
 */
import type { Clock, Timer } from '../../../system/clock.ts'
import type { ConfigFingerprint } from '../../../domain/config-fingerprint.ts'
import { findDifferingSections } from '../../../domain/config-fingerprint.ts'
import { readCommitted } from '../connection/connections.ts'
import type { Connections } from '../connection/connections.ts'
import { lacksConnection } from '../connection/errors.ts'
import { parseJson } from '../../../system/parse-json.ts'

/**
 * How long a lease lasts, and how often it is renewed. The holds of a dead node are released within twenty seconds; a node keeps
 * its holds through fifteen seconds without contact.
 */
export const leaseMs = 17_000
export const renewIntervalMs = 2_000

/** A node whose clock differs more from the database's is not ready and runs no job: both compute and delete by its clock. */
export const maxClockSkewMs = 30_000

export function isClockTrusted({ clockAheadMs }: Pick<NodeLease, 'clockAheadMs'>): boolean {
  return Math.abs(clockAheadMs) <= maxClockSkewMs
}

interface Node {
  readonly id: number
  readonly name: string
}

export interface NodeLeaseOptions {
  /** Connections of its own: waiting for other statements must not make a node look dead. */
  readonly connections: Connections
  /** New for every start. */
  readonly name: string
  readonly version: string
  readonly config?: ConfigFingerprint
  readonly clock: Pick<Clock, 'now' | 'monotonicMs' | 'every'>
  /** Receives the new id after the old one expired. */
  readonly onNewId?: (id: number) => void
  /** Receives the sections in which other nodes' configurations differ from this one's, on each change; none: they agree. */
  readonly onConfigDifference?: (sections: readonly string[]) => void
  /** Receives the reason of a failed renewal; the next one follows as scheduled. */
  readonly onError?: (error: unknown) => void
}

const leaseEnd = `clock_timestamp() + ${leaseMs} * interval '1 ms'`
const databaseNow = '(extract(epoch from clock_timestamp()) * 1000)::bigint as now'
const livingOthers = 'from process others where others.id <> process.id and others.alive_until >= clock_timestamp()'
const renewalColumns = `${databaseNow}, (select count(*) ${livingOthers}) as others,
  (select array_agg(distinct others.config) ${livingOthers} and others.config <> process.config) as other_configs`

interface RenewalRow {
  readonly now: number
  readonly others: number
  readonly other_configs: readonly string[] | null
}

/** Lease of a command that works beside the nodes: it owns no holds, so no node waits for it. */
export const commandLease: NodeLease = {
  id: 0,
  isAlive: true,
  nodeCount: 0,
  clockAheadMs: 0,
  findDeadNodes: async () => [],
  removeNode: async () => {},
  recordJobResult: () => {},
  setConfigFingerprint: () => {},
  release: async () => {},
}

/** A node's lease, as the rest of the store uses it. */
export type NodeLease = Pick<
  RenewedNodeLease,
  | 'id'
  | 'isAlive'
  | 'nodeCount'
  | 'clockAheadMs'
  | 'findDeadNodes'
  | 'removeNode'
  | 'recordJobResult'
  | 'setConfigFingerprint'
  | 'release'
>

export class RenewedNodeLease {
  readonly #options: NodeLeaseOptions
  #id = 0
  /** Number of registrations: each expired lease is followed by one under another name. */
  #registrations = 0
  #renewedMs = -Infinity
  /** Start of the current series of renewals without a gap. */
  #steadySinceMs = 0
  #clockAheadMs = 0
  #nodeCount = 1
  /** Last reported sections. */
  #differingSections: readonly string[] = []
  /** Written with the next renewal: it has connections of its own. */
  readonly #jobsWithoutConnection = new Set<string>()
  #config: ConfigFingerprint
  #timer: Timer | undefined
  #renewal: Promise<void> | undefined

  private constructor(options: NodeLeaseOptions) {
    this.#options = options
    this.#config = options.config ?? {}
  }

  static async register(options: NodeLeaseOptions): Promise<RenewedNodeLease> {
    const lease = new RenewedNodeLease(options)
    await lease.#register()
    lease.#timer = options.clock.every(renewIntervalMs, () => void lease.renew()).unref()
    return lease
  }

  /** Identifies this node's holds. */
  get id(): number {
    return this.#id
  }

  /** False from the moment at which other nodes may declare this one dead: it must not make holds then. */
  get isAlive(): boolean {
    return this.#options.clock.monotonicMs() - this.#renewedMs < leaseMs
  }

  /** How far this node's wall clock is ahead of the database's, as of the last renewal. */
  get clockAheadMs(): number {
    return this.#clockAheadMs
  }

  /** Living nodes at the last renewal, including this one. */
  get nodeCount(): number {
    return this.#nodeCount
  }

  /** Background jobs that fail for want of a connection are shown by all nodes and by commands; other failures are only logged. */
  recordJobResult(job: string, error?: unknown): void {
    if (lacksConnection(error)) this.#jobsWithoutConnection.add(job)
    else this.#jobsWithoutConnection.delete(job)
  }

  /** Written with the next renewal. */
  setConfigFingerprint(config: ConfigFingerprint): void {
    this.#config = config
  }

  /** Renews the lease; errors are left to the next renewal. */
  renew(): Promise<void> {
    this.#renewal ??= this.#renew()
      .catch((error: unknown) => this.#options.onError?.(error))
      .finally(() => (this.#renewal = undefined))
    return this.#renewal
  }

  /**
   * Nodes whose lease has expired. Returns none until this node has renewed for a whole lease time without a gap: after an outage
   * of the database all nodes have the same time to return.
   */
  async findDeadNodes(): Promise<readonly Node[]> {
    const { connections, clock } = this.#options
    if (!this.isAlive || clock.monotonicMs() - this.#steadySinceMs < leaseMs) return []
    // A statement of a dead node may arrive late, after its row was removed; its holds are found by their owner.
    const { rows } = await connections.read(
      `select id, name from process where alive_until < clock_timestamp()
      union all select distinct owner_process, '' from turn where state = 'held' and not exists (select from process where id = owner_process)
      order by id`,
      [],
    )
    return rows as Node[]
  }

  /** Removes a node of which nothing is left. A node that has returned has another id by then. */
  async removeNode({ id }: Node): Promise<void> {
    await this.#options.connections.write(
      readCommitted,
      'delete from process where id = $1 and alive_until < clock_timestamp()',
      [id],
    )
  }

  /** Ends the lease, so that another node releases the remaining holds at once. */
  async release(): Promise<void> {
    this.#timer?.cancel()
    await this.#renewal
    this.#renewedMs = -Infinity
    await this.#options.connections.write(readCommitted, 'update process set alive_until = clock_timestamp() where id = $1', [
      this.#id,
    ])
  }

  async #renew(): Promise<void> {
    const { connections } = this.#options
    const clocksAtSend = this.#readClocks()
    const { rows } = await connections.write(
      readCommitted,
      `update process set alive_until = ${leaseEnd}, jobs_without_connection = $2::text[], config = $3
      where id = $1 and alive_until >= clock_timestamp() returning ${renewalColumns}`,
      [this.#id, [...this.#jobsWithoutConnection], JSON.stringify(this.#config)],
    )
    if (rows[0] === undefined) await this.#register()
    else this.#recordRenewal(clocksAtSend, rows[0])
  }

  async #register(): Promise<void> {
    const { connections, name, version, onNewId } = this.#options
    const clocksAtSend = this.#readClocks()
    const { rows } = await connections.write(
      readCommitted,
      `insert into process (name, version, config, alive_until) values ($1, $2, $3, ${leaseEnd}) returning id, ${renewalColumns}`,
      [this.#registrations === 0 ? name : `${name}~${this.#registrations}`, version, JSON.stringify(this.#config)],
    )
    this.#registrations += 1
    this.#id = rows[0].id
    this.#recordRenewal(clocksAtSend, rows[0])
    if (this.#registrations > 1) onNewId?.(this.#id)
  }

  #readClocks(): { readonly now: number; readonly monotonicMs: number } {
    const { clock } = this.#options
    return { now: clock.now(), monotonicMs: clock.monotonicMs() }
  }

  /** Counts from the time of sending, because the answer may have been delayed. */
  #recordRenewal(
    sent: { readonly now: number; readonly monotonicMs: number },
    { now, others, other_configs: otherConfigs }: RenewalRow,
  ): void {
    const { clock } = this.#options
    if (sent.monotonicMs - this.#renewedMs > 2 * renewIntervalMs) this.#steadySinceMs = sent.monotonicMs
    this.#renewedMs = sent.monotonicMs
    this.#clockAheadMs = (sent.now + clock.now()) / 2 - now
    this.#nodeCount = others + 1
    this.#reportConfigDifference(otherConfigs ?? [])
  }

  #reportConfigDifference(otherConfigs: readonly string[]): void {
    const { onConfigDifference } = this.#options
    const sections = findDifferingSections([this.#config, ...otherConfigs.map(parseFingerprint)])
    if (sections.join() === this.#differingSections.join()) return
    this.#differingSections = sections
    onConfigDifference?.(sections)
  }
}

export function parseFingerprint(config: string): ConfigFingerprint {
  return parseJson(config) as ConfigFingerprint
}
