/** Creates an empty balance and the registry entry of accounts that have none. */
import type { PoolClient } from 'pg'
import { genesisHash, hashRegistryEntry } from '../../ledger/hash-chain.ts'
import { toArrayLiteral } from './array-literal.ts'
import type { Connections } from '../connection/connections.ts'

/** In a transaction of its own, so that balances are always locked before the registry. @throws if an account does not exist */
export async function openAccounts(connections: Connections, client: PoolClient, accounts: readonly string[]): Promise<void> {
  const accountArray = toArrayLiteral(accounts.toSorted())
  await connections.begin(client)
  await client.query('insert into balance (account, seq, hash) select unnest($1::text[]), 0, $2 on conflict do nothing', [
    accountArray,
    genesisHash,
  ])
  const { rows: heads } = await client.query<{ number: number; hash: Uint8Array }>(
    'select number, hash from ledger_account_head for update',
  )
  const [head] = heads
  if (head === undefined) throw new Error('the account registry has no head')
  const { rows: existingRows } = await client.query<{ account: string }>(
    'select account from ledger_account where account = any($1::text[])',
    [accountArray],
  )
  const registeredAccounts = new Set(existingRows.map(({ account }) => account))
  let { number, hash } = head
  for (const account of accounts.toSorted()) {
    if (registeredAccounts.has(account)) continue
    number += 1
    hash = hashRegistryEntry(hash, number, account)
    await client.query('insert into ledger_account (number, account, hash) values ($1, $2, $3)', [number, account, hash])
  }
  await client.query('update ledger_account_head set number = $1, hash = $2', [number, hash])
  const { command } = await client.query('commit')
  if (command !== 'COMMIT') throw new Error('the transaction was rolled back')
}
