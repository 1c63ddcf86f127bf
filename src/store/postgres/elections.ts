/** Which node does what one of them does for all. It spares work and decides nothing: every chore is right if two do it. */
import { alone } from './connections.ts'
import type { Connections } from './connections.ts'
import type { Presence } from './presence.ts'

/** A chore's holder has so much longer than until its next turn, so that the chore does not go round. */
const graceFactor = 1.5

export class Elections {
  readonly #connections: Connections
  readonly #presence: Pick<Presence, 'id'>

  constructor(connections: Connections, presence: Pick<Presence, 'id'>) {
    this.#connections = connections
    this.#presence = presence
  }

  /** Whether a chore that is done so often is this node's to do now. */
  async isMine(chore: string, everyMs: number): Promise<boolean> {
    const { rowCount } = await this.#connections.write(
      alone,
      `insert into chore (name, holder, until) values ($1, $2, clock_timestamp() + $3::bigint * interval '1 ms')
      on conflict (name) do update set holder = excluded.holder, until = excluded.until
      where chore.holder = excluded.holder or chore.until < clock_timestamp()`,
      [chore, this.#presence.id, Math.round(everyMs * graceFactor)],
    )
    return rowCount === 1
  }
}
