/**
 * The chain that runs through one account's links: its entries, and its turns as they end. Each hash covers its link and the hash before
 * it. A turn's row carries two hashes in its life: while it is held that of what it was held as, from its ending on that of its link,
 * which covers the first.
 *
 * No secret is in them. They show an accident, a blind edit, a deletion; whoever can write the file and knows this code can make a chain
 * anew from any link on, and the sums with it. Against that stands only a copy they cannot write.
 */
import { hash } from 'node:crypto'
import type { CheckpointTable, EntryTable } from './schema.ts'
import type { EndedTurn, HeldTurn } from './turn-columns.ts'
import { endedColumns, reportedColumns, sealedColumns, valuesOf } from './turn-columns.ts'

/** Half of SHA-256: enough against accidents and blind edits, and half the space on every row. */
const hashBytes = 16

/** What the first link of an account, and the first account of the roster, is chained to. */
export const chainStart: Uint8Array = new Uint8Array(hashBytes)

export function entryHash(before: Uint8Array, { account, seq, kind, at, detail }: Omit<EntryTable, 'hash'>): Uint8Array {
  return digest(textOf(before), [account, seq, kind, at, detail])
}

/** Of a turn as it is held; in the order of `sealedColumns`. */
export function heldHash(values: readonly (string | number | null)[]): Uint8Array {
  return digest('', values)
}

/** Of an ended turn: `held` is its hash until then, `ending` in the order of `reportedColumns` and `endedColumns`. */
export function turnHash(
  before: Uint8Array,
  held: Uint8Array,
  id: number,
  seq: number,
  ending: readonly (string | number | null)[],
): Uint8Array {
  return digest(textOf(before) + textOf(held), [id, seq, ...ending])
}

/** Both again, from a row as it is read. */
export function heldHashOf(turn: HeldTurn): Uint8Array {
  return heldHash(valuesOf(sealedColumns, turn))
}

export function turnHashOf(before: Uint8Array, turn: EndedTurn): Uint8Array {
  const ending = [...valuesOf(reportedColumns, turn), ...valuesOf(endedColumns, turn)]
  return turnHash(before, heldHashOf(turn), turn.id, turn.seq, ending)
}

export function checkpointSeal({ account, seq, hash: link, balances }: Omit<CheckpointTable, 'seal'>): Uint8Array {
  return digest(textOf(link), [account, seq, balances])
}

export function rosterHash(before: Uint8Array, number: number, account: string): Uint8Array {
  return digest(textOf(before), [number, account])
}

export function sameHash(one: Uint8Array, other: Uint8Array): boolean {
  return Buffer.compare(one, other) === 0
}

/** JSON, because of all texts in it no two lists read the same. */
function digest(before: string, values: readonly (string | number | null)[]): Uint8Array {
  return hash('sha256', before + JSON.stringify(values), 'buffer').subarray(0, hashBytes)
}

function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64')
}
