/** Opens the books of accounts that have none: an empty purse, and their place on the roster. */
import type { PoolClient } from 'pg'
import { chainStart, rosterHash } from '../chain.ts'
import { arrayOf } from './arrays.ts'
import type { Connections } from './connections.ts'

/** In a transaction of its own, so that purses are locked before the roster, always. @throws where one is no account */
export async function openPurses(connections: Connections, client: PoolClient, accounts: readonly string[]): Promise<void> {
  const wanted = arrayOf(accounts.toSorted())
  await connections.begin(client)
  await client.query('insert into purse (account, seq, hash) select unnest($1::text[]), 0, $2 on conflict do nothing', [
    wanted,
    chainStart,
  ])
  const { rows: ends } = await client.query<{ number: number; hash: Uint8Array }>(
    'select number, hash from roster_end for update',
  )
  const [end] = ends
  if (end === undefined) throw new Error('the roster has no end')
  const { rows: there } = await client.query<{ account: string }>('select account from roster where account = any($1::text[])', [
    wanted,
  ])
  const known = new Set(there.map(({ account }) => account))
  let { number, hash } = end
  for (const account of accounts.toSorted()) {
    if (known.has(account)) continue
    number += 1
    hash = rosterHash(hash, number, account)
    await client.query('insert into roster (number, account, hash) values ($1, $2, $3)', [number, account, hash])
  }
  await client.query('update roster_end set number = $1, hash = $2', [number, hash])
  const { command } = await client.query('commit')
  if (command !== 'COMMIT') throw new Error('the transaction was undone')
}
