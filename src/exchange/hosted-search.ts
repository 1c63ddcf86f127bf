/**
 * Web search that the service runs within a turn: what the request says about it, and how the searches stand in a whole completion. Its list
 * `hosted_steps` has their steps and the texts before them; the field stands beside `choices`, where no field of an upstream passes.
 */
import type { AnswerEvent } from '../conversation/answer-event.ts'

/** The function that the model calls. */
export const hostedSearchFunction = 'web_search'

/** A request cannot raise it: every search is charged, and the client waits for all of them. */
export const maxHostedSearches = 5

export interface HostedSearchOptions {
  /** How many searches the turn may make. */
  readonly maxUses: number
  /** Results of other hosts are left out; empty: all hosts are allowed. */
  readonly allowedDomains: readonly string[]
  readonly blockedDomains: readonly string[]
}

/** The events before the message of a whole completion. */
export function readHostedSteps(completion: Readonly<Record<string, unknown>>): readonly AnswerEvent[] {
  return (completion['hosted_steps'] as readonly AnswerEvent[] | undefined) ?? []
}
