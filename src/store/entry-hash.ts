/** The chain that runs through one account's entries: each hash covers its entry and the hash before it. */
import { hash } from 'node:crypto'
import type { EntryTable } from './schema.ts'

/** What a hash covers besides its predecessor. */
export type HashedEntry = Omit<EntryTable, 'id' | 'hash'>

/** Half of SHA-256: enough against accidents and blind edits, and half the space on a row that is kept for ever. */
const hashBytes = 16

/** What the first entry of an account is chained to. */
export const chainStart: Uint8Array = new Uint8Array(hashBytes)

export function entryHash(before: Uint8Array, entry: HashedEntry): Uint8Array {
  const { account, seq, kind, at, turn, plan, debt, detail } = entry
  // Account ids and kinds hold no line feed and every other field but the last is a number, so no two entries read the same.
  const text = `${Buffer.from(before).toString('base64')}\n${account}\n${seq}\n${kind}\n${at}\n${turn}\n${plan}\n${debt}\n${detail}`
  return hash('sha256', text, 'buffer').subarray(0, hashBytes)
}
