/**
 * Web search that the service runs within a turn: what the request says about it, and how a search stands in a chat completion. A stream has a
 * chunk for the beginning and one for the end of each search, in the field `hosted_search`; a whole completion has the list `hosted_steps` of
 * such chunks and of those with the texts before them. Both fields stand beside `choices`, where no field of an upstream passes.
 */

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

export interface SearchSource {
  /** The mark `[n]` in the answer; unique in the turn. */
  readonly number: number
  readonly url: string
  readonly title: string
  readonly snippet: string
  readonly publishedAt: string | null
}

/** Why a search has no result. */
export type SearchFault = 'invalid_query' | 'too_many_searches' | 'quota' | 'unavailable'

export type HostedSearchStep =
  | { readonly phase: 'start'; readonly position: number; readonly query: string }
  | {
      readonly phase: 'end'
      readonly position: number
      readonly query: string
      /** Null if it failed. */
      readonly sources: readonly SearchSource[] | null
      readonly fault: SearchFault | null
    }

/** The step of a chunk that this service has written; undefined for any other chunk. */
export function readSearchStep(chunk: Readonly<Record<string, unknown>>): HostedSearchStep | undefined {
  return chunk['hosted_search'] as HostedSearchStep | undefined
}

/** The chunks before the message of a whole completion. */
export function readHostedSteps(completion: Readonly<Record<string, unknown>>): readonly Readonly<Record<string, unknown>>[] {
  return (completion['hosted_steps'] as readonly Readonly<Record<string, unknown>>[] | undefined) ?? []
}
