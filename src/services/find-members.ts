/** Finds members by what a ticket has: an address, an id, an API key, an order, a request. */
import type { Account } from '../domain/identity/account.ts'
import type { Services } from './services.ts'

/** Characters of an API key, after its fixed part, that are stored. */
const keyPrefixChars = 4
const maxKeysOfPrefix = 50
const maxTurnsOfRequest = 50
/** A request that is in no list yet is looked for among so many of the newest turns. */
const maxSearchedTurns = 20_000

/** Nothing that an operator types finds more than fifty accounts. */
export async function findMembers(
  text: string,
  { store, names, ledger, membership, orders }: Pick<Services, 'store' | 'names' | 'ledger' | 'membership' | 'orders'>,
): Promise<readonly Account[]> {
  const searchText = text.trim()
  const load = async (ids: readonly string[]): Promise<readonly Account[]> => {
    const accounts = await Promise.all([...new Set(ids)].map((id) => store.accounts.find(id)))
    return accounts.filter((each) => each !== undefined)
  }
  if (searchText.startsWith(names.keyPrefix)) {
    const keys = await store.apiKeys.listByPrefix(searchText.slice(0, names.keyPrefix.length + keyPrefixChars), maxKeysOfPrefix)
    return load(keys.map(({ account }) => account))
  }
  const account = await store.accounts.find(searchText)
  if (account !== undefined) return [account]
  if (/^(ord_\w+|\d{4}-\d{1,12})$/.test(searchText)) {
    const order = await orders?.find(null, searchText)
    return load(order === undefined ? [] : [order.account])
  }
  if (!/^[\w-]{8,128}$/.test(searchText) || searchText.startsWith('acc_')) return []
  const { turnHistory } = membership
  // Read first: a turn that is collected after the list was read would be in neither.
  const { behindMs } = await turnHistory.readProgress()
  // A client may use an id again, and another member's client may have used it too.
  const { turns } = await turnHistory.listTurns({ requestId: searchText }, { limit: maxTurnsOfRequest })
  if (turns.length > 0) return load(turns.map((turn) => turn.account))
  if (behindMs === 0) return []
  const newestTurns = await ledger.turns({ request: { id: searchText, searched: maxSearchedTurns }, limit: 1 })
  return load(newestTurns.map((turn) => turn.account))
}
