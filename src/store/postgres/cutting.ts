/** Forgets what a new checkpoint of an account stands for. */
import type { Cut } from '../cuts.ts'
import type { Connections } from './connections.ts'
import { isOfTheStatement } from './failures.ts'

/** How many turns are gone; none, and nothing is changed, where another node has cut meanwhile, or something has moved since. */
export async function cutOff(
  connections: Connections,
  { account, after, checkpoint, turns, buckets, packs }: Cut,
): Promise<number> {
  const client = await connections.take()
  let failure: unknown
  try {
    await connections.begin(client)
    await client.query('select 1 from purse where account = $1 for update', [account])
    const { rows } = await client.query<{ seq: number }>('select seq from checkpoint where account = $1', [account])
    if ((rows[0]?.seq ?? 0) !== after) {
      await client.query('rollback')
      return 0
    }
    const { seq, hash, balances, seal } = checkpoint
    const gone = async (text: string, values: unknown[], expected = 1): Promise<void> => {
      const { rowCount } = await client.query(text, values)
      if (rowCount !== expected) throw new Error(`what was to be forgotten of ${account} is not what it was`)
    }
    await gone(
      `insert into checkpoint (account, seq, hash, balances, seal) values ($1, $2, $3, $4, $5)
      on conflict (account) do update set seq = excluded.seq, hash = excluded.hash, balances = excluded.balances, seal = excluded.seal`,
      [account, seq, hash, balances, seal],
    )
    await gone(
      `delete from turn where account = $1 and id = any($2::bigint[]) and state <> 'held'`,
      [account, turns],
      turns.length,
    )
    await client.query('delete from entry where account = $1 and seq <= $2', [account, seq])
    // A turn that packs alone hold draws on the period as well, if it costs more.
    const stillDrawnOn = `select 1 from turn where state = 'held' and account = $1 and $2 in (day_bucket, week_bucket, month_bucket)`
    for (const [id, settled] of buckets)
      await gone(
        `delete from bucket where account = $1 and id = $2 and reserved = 0 and settled = $3 and not exists (${stillDrawnOn})`,
        [account, id, settled],
      )
    for (const [id, settled] of packs)
      await gone('delete from pack where account = $1 and id = $2 and reserved = 0 and settled = $3', [account, id, settled])
    await client.query('commit')
    return turns.length
  } catch (error) {
    failure = error
    await client.query('rollback').catch(() => undefined)
    throw error
  } finally {
    connections.giveBack(client, failure === undefined || isOfTheStatement(failure) ? undefined : failure)
  }
}
