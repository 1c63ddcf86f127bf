/** Long reads, each in a thread of its own: neither the event loop nor the writer waits for them. */
import type { Turn, TurnQuery, Verification } from '../../membership/ledger.ts'
import type { Cut } from '../cuts.ts'
import { doneBy } from '../task.ts'

export interface Tasks {
  readonly verify: { readonly asks: { readonly file: string }; readonly gives: Verification }
  /** Gives what verifying the copy found. */
  readonly backup: { readonly asks: { readonly file: string; readonly to: string }; readonly gives: Verification }
  /** What is to be forgotten of what is older than `before`, looking at so many turns at most. */
  readonly cuts: {
    readonly asks: { readonly file: string; readonly before: number; readonly limit: number }
    readonly gives: readonly Cut[]
  }
  /** Gives whether every page of the file can be read and agrees with the others. */
  readonly check: { readonly asks: { readonly file: string }; readonly gives: boolean }
  readonly turns: { readonly asks: { readonly file: string; readonly query: TurnQuery }; readonly gives: readonly Turn[] }
}

export type Task = { [Kind in keyof Tasks]: { readonly kind: Kind } & Tasks[Kind]['asks'] }[keyof Tasks]

/** Throws when the task could not be done. */
export function runTask<Kind extends keyof Tasks>(
  kind: Kind,
  asks: Tasks[Kind]['asks'],
  signal?: AbortSignal,
): Promise<Tasks[Kind]['gives']> {
  const extension = import.meta.url.slice(import.meta.url.lastIndexOf('.'))
  return doneBy(new URL(`./reader-thread${extension}`, import.meta.url), { kind, ...asks }, signal)
}
