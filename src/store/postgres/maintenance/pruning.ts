/** Deletes what a new checkpoint of an account stands for. */
import type { PruningStep } from '../../ledger/pruning.ts'
import type { Connections } from '../connection/connections.ts'
import { isStatementError } from '../connection/errors.ts'

/**
 * Returns the number of deleted turns; 0, and nothing changes, if another node has pruned meanwhile. @throws if a row has changed
 * since the plan
 */
export async function pruneAccount(
  connections: Connections,
  { account, previousSeq, checkpoint, turns, buckets, packs, sumsBefore }: PruningStep,
): Promise<number> {
  const client = await connections.acquire()
  let failure: unknown
  try {
    await connections.begin(client)
    await client.query('select 1 from balance where account = $1 for update', [account])
    const { rows } = await client.query<{ seq: number }>('select seq from checkpoint where account = $1', [account])
    if ((rows[0]?.seq ?? 0) !== previousSeq) {
      await client.query('rollback')
      return 0
    }
    const { seq, hash, balances, seal } = checkpoint
    const mustAffect = async (text: string, values: unknown[], expected = 1): Promise<void> => {
      const { rowCount } = await client.query(text, values)
      if (rowCount !== expected) throw new Error(`rows of ${account} have changed since their pruning was planned`)
    }
    await mustAffect(
      `insert into checkpoint (account, seq, hash, balances, seal) values ($1, $2, $3, $4, $5)
      on conflict (account) do update set seq = excluded.seq, hash = excluded.hash, balances = excluded.balances, seal = excluded.seal`,
      [account, seq, hash, balances, seal],
    )
    await mustAffect(
      `delete from turn where account = $1 and id = any($2::bigint[]) and state <> 'held'`,
      [account, turns],
      turns.length,
    )
    await client.query('delete from entry where account = $1 and seq <= $2', [account, seq])
    // A turn held by packs only also draws on the period's buckets if it costs more than its packs.
    const stillReferenced = `select 1 from turn where state = 'held' and account = $1 and $2 in (day_bucket, week_bucket, month_bucket)`
    for (const [id, settled] of buckets)
      await mustAffect(
        `delete from bucket where account = $1 and id = $2 and reserved = 0 and settled = $3 and not exists (${stillReferenced})`,
        [account, id, settled],
      )
    for (const [id, settled] of packs)
      await mustAffect('delete from pack where account = $1 and id = $2 and reserved = 0 and settled = $3', [
        account,
        id,
        settled,
      ])
    await client.query('delete from usage_sum where account = $1 and starts_at < $2', [account, sumsBefore])
    await client.query('commit')
    return turns.length
  } catch (error) {
    failure = error
    await client.query('rollback').catch(() => undefined)
    throw error
  } finally {
    connections.release(client, failure === undefined || isStatementError(failure) ? undefined : failure)
  }
}
