/** Long looks at the whole ledger, each in a thread of its own. */
import type { Verification } from '../../membership/ledger.ts'
import type { Cut } from '../cuts.ts'
import { doneBy } from '../task.ts'

export interface Tasks {
  readonly verify: { readonly asks: { readonly url: string }; readonly gives: Verification }
  /** Gives what is to be forgotten of what is older than `before`, looking at so many turns at most. */
  readonly cuts: {
    readonly asks: { readonly url: string; readonly before: number; readonly limit: number }
    readonly gives: readonly Cut[]
  }
}

export type Task = { [Kind in keyof Tasks]: { readonly kind: Kind } & Tasks[Kind]['asks'] }[keyof Tasks]

/** @throws where the task could not be done */
export function runTask<Kind extends keyof Tasks>(
  kind: Kind,
  asks: Tasks[Kind]['asks'],
  signal?: AbortSignal,
): Promise<Tasks[Kind]['gives']> {
  const extension = import.meta.url.slice(import.meta.url.lastIndexOf('.'))
  return doneBy(new URL(`./task-thread${extension}`, import.meta.url), { kind, ...asks }, signal)
}
