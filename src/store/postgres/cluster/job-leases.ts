/** Leases for periodic jobs. They avoid duplicate work, and keep jobs from nodes whose clock is wrong: jobs end and delete by the time of day. */
import { readCommitted } from '../connection/connections.ts'
import type { Connections } from '../connection/connections.ts'
import { maxClockSkewMs } from './node-lease.ts'
import type { RenewedNodeLease } from './node-lease.ts'

/** A lease outlasts the job's interval by this factor, so that its holder can renew it. */
const graceFactor = 1.5

export class JobLeases {
  readonly #connections: Connections
  readonly #nodeLease: Pick<RenewedNodeLease, 'id'>
  readonly #clock: { now(): number }

  constructor(connections: Connections, nodeLease: Pick<RenewedNodeLease, 'id'>, clock: { now(): number }) {
    this.#connections = connections
    this.#nodeLease = nodeLease
    this.#clock = clock
  }

  /** Whether this node is to run the job now. A node whose clock is wrong gives up the lease that it holds. */
  async acquire(job: string, intervalMs: number): Promise<boolean> {
    const { rows } = await this.#connections.write(
      readCommitted,
      `with skew as (select abs(extract(epoch from clock_timestamp()) * 1000 - $4::bigint) > ${maxClockSkewMs} as too_large),
      given_up as (delete from job_lease using skew where skew.too_large and name = $1 and holder = $2)
      insert into job_lease (name, holder, lease_until)
      select $1, $2, clock_timestamp() + $3::bigint * interval '1 ms' from skew where not skew.too_large
      on conflict (name) do update set holder = excluded.holder, lease_until = excluded.lease_until
      where job_lease.holder = excluded.holder or job_lease.lease_until < clock_timestamp()
      returning name`,
      [job, this.#nodeLease.id, Math.round(intervalMs * graceFactor), this.#clock.now()],
    )
    return rows.length === 1
  }
}
