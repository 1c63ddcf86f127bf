/**
 * The hash chain of one account. Its links are the account's entries and ended turns; each hash covers its link and the hash before it. A
 * turn's row has two hashes in its life: while it is held, the hash of the hold; once it has ended, the hash of its link, which covers the
 * first.
 *
 * A turn's row names the version of its link's hash. Rows keep the version that they ended with, and what a version covers never changes.
 * The hash of a hold and that of an entry have one version.
 *
 * The hashes contain no secret. They reveal accidents, blind edits and deletions. An attacker who can write the file and has this code can
 * compute a new chain with matching sums; only a copy that the attacker cannot write protects against that.
 */
import { hash } from 'node:crypto'
import type { CheckpointTable, EntryTable } from '../schema/schema.ts'
import type { HashedEnding, VerifiedTurn, HoldRow } from './turn-columns.ts'
import { addedUsageColumns, firstUsageColumns, outcomeColumns, usageColumns, holdColumns, pickValues } from './turn-columns.ts'

/** Half of SHA-256: enough against accidents and blind edits, at half the space in every row. */
const hashBytes = 16

/** Precedes the first link of an account, and the first account of the registry. */
export const genesisHash: Uint8Array = new Uint8Array(hashBytes)

export function hashEntry(previousHash: Uint8Array, { account, seq, kind, at, detail }: Omit<EntryTable, 'hash'>): Uint8Array {
  return digest(toBase64(previousHash), [account, seq, kind, at, detail])
}

/** The hash of a turn while it is held. */
export function hashHold(turn: HoldRow): Uint8Array {
  return digest('', pickValues(holdColumns, turn))
}

/** The version of the links that are written now. */
export const currentHashVersion = 2

/** The link of an ended turn. `holdHash` is the hash that its row had while it was held. */
export function hashEnding(
  previousHash: Uint8Array,
  holdHash: Uint8Array,
  id: number,
  seq: number,
  ending: HashedEnding,
): Uint8Array {
  const values = [currentHashVersion, id, seq, ...pickValues(usageColumns, ending), ...pickValues(outcomeColumns, ending)]
  return digest(toBase64(previousHash) + toBase64(holdHash), values)
}

/** The link of an ended turn, computed from its row alone. */
export function hashTurn(previousHash: Uint8Array, turn: VerifiedTurn): Uint8Array {
  const holdHash = hashHold(turn)
  if (turn.hash_version !== 1) return hashEnding(previousHash, holdHash, turn.id, turn.seq, turn)
  const values = [turn.id, turn.seq, ...pickValues(firstUsageColumns, turn), ...pickValues(outcomeColumns, turn)]
  return digest(toBase64(previousHash) + toBase64(holdHash), values)
}

/** Whether the hash of an ended turn covers all that its row reports: its version is known, and what came later is empty in older rows. */
export function isCoveredByHash(turn: VerifiedTurn): boolean {
  if (turn.hash_version === currentHashVersion) return true
  return turn.hash_version === 1 && addedUsageColumns.every((column) => turn[column] === null)
}

export function hashCheckpoint({ account, seq, hash: link, balances }: Omit<CheckpointTable, 'seal'>): Uint8Array {
  return digest(toBase64(link), [account, seq, balances])
}

export function hashRegistryEntry(previousHash: Uint8Array, number: number, account: string): Uint8Array {
  return digest(toBase64(previousHash), [number, account])
}

export function isSameHash(one: Uint8Array, other: Uint8Array): boolean {
  return Buffer.compare(one, other) === 0
}

/** JSON, because no two different lists have the same text in it. */
function digest(before: string, values: readonly (string | number | null)[]): Uint8Array {
  return hash('sha256', before + JSON.stringify(values), 'buffer').subarray(0, hashBytes)
}

function toBase64(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64')
}
