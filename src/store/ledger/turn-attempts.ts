/** The attempts of a turn as its row stores them: the ordinary turn has one, and its target and status are in columns of their own. */
import type { TurnAttempt } from '../../domain/billing/ledger.ts'
import { parseJson } from '../../system/parse-json.ts'

type EncodedAttempt = readonly [
  startedMs: number,
  endedMs: number,
  status: number | null,
  failure: string | null,
  /** Left out where it is the turn's. */
  target?: string,
]

/** More are the work of a fault; the first and the last ones explain a turn. */
const maxAttempts = 16

/** `target`: the turn's own, which its last attempt has. */
export function encodeAttempts(attempts: readonly TurnAttempt[], target: string | null): string {
  const keptAttempts = attempts.length <= maxAttempts ? attempts : [...attempts.slice(0, 8), ...attempts.slice(-8)]
  return JSON.stringify(
    keptAttempts.map(({ startedMs, endedMs, status, failure, target: called }): EncodedAttempt => {
      const common = [startedMs, endedMs, status, failure] as const
      return called === target ? common : [...common, called]
    }),
  )
}

export function decodeAttempts(text: string, target: string | null): readonly TurnAttempt[] {
  return (parseJson(text) as readonly EncodedAttempt[]).map(([startedMs, endedMs, status, failure, called]) => ({
    target: called ?? target ?? '',
    startedMs,
    endedMs,
    status,
    failure,
  }))
}
