/**
 * How a call of a model ends, and what follows: for the member's credits, for the target's health, and for the client. One table decides for
 * every way to end; `docs/ledger.md` is written from it.
 */
import { UpstreamFailure } from '../exchange/upstream-failure.ts'
import { isCausedByRequest } from './errors/retry-policy.ts'

export interface CallEnding {
  readonly kind: EndingKind
  /** Whether the client's stream has been sent output: text, reasoning, or a call of a tool. */
  readonly isForwarded: boolean
  /** Whether the client is the slow side (`client-pace.ts`). */
  readonly isClientSlow: boolean
  /** Whether no output came during the last `timeouts.idleMs` while the client was reading. */
  readonly isUpstreamSilent: boolean
}

export interface EndingRule {
  readonly kind: EndingKind
  /** Left out: the rule applies in both cases. */
  readonly isForwarded?: boolean
  readonly isClientSlow?: boolean
  readonly isUpstreamSilent?: boolean
  readonly causedBy: 'nothing' | 'client' | 'request' | 'upstream' | 'time_limit' | 'gateway'
  /** `charge`: what was reported, or of an incomplete answer what was produced. `refund`: the turn fails, and its hold is released. */
  readonly credits: 'charge' | 'refund'
  /** Whether it counts against the target's health. `by_status`: the status and its text decide (`errors/retry-policy.ts`). */
  readonly countsAgainstTarget: boolean | 'by_status'
  /** `cut_off`: the answer ends as at a limit of tokens. `failure`: an error. `nothing`: its connection is closed, or was. */
  readonly clientReceives: 'answer' | 'cut_off' | 'failure' | 'nothing'
}

export const endingDescriptions = {
  complete: 'The answer is complete',
  output_cap: 'The upstream ignores the cap of the output',
  total_time: 'The total time is over (`timeouts.totalMs`)',
  silence: 'No connection, no first byte or no event in time (`connectMs`, `firstByteMs`, `idleMs`)',
  connection_lost: 'The connection to the upstream is lost, or ends within the answer',
  refusal_event: 'The upstream refuses the request, its length or its content within the answer',
  error_event: 'The upstream reports any other error within the answer',
  unusable_output: 'The model writes what the upstream cannot use, such as a malformed call of a tool',
  too_many_calls: 'The model makes more calls of tools than an answer may have',
  answer_length: 'The answer that is forwarded has too many bytes in all',
  invalid_answer: 'The upstream sends what is no answer, or too much',
  rejected: 'The upstream answers with an error status',
  client_gone: 'The client disconnects',
  client_timeout: 'The client takes nothing for `timeouts.slowReaderMs`',
  shutdown: 'The time for a shutdown is over (`timeouts.drainMs`)',
  gateway_fault: 'A plugin or the gateway fails',
} as const

export type EndingKind = keyof typeof endingDescriptions

const chargedEnding = { credits: 'charge', countsAgainstTarget: false } as const
const cutOff = { ...chargedEnding, clientReceives: 'cut_off' } as const
const refundedEnding = { credits: 'refund', countsAgainstTarget: false, clientReceives: 'failure' } as const
const upstreamFailed = { ...refundedEnding, causedBy: 'upstream', countsAgainstTarget: true } as const
const slowClient = { isForwarded: true, isClientSlow: true, causedBy: 'client', ...cutOff } as const

/** The first rule that matches decides. */
export const endingRules: readonly EndingRule[] = [
  { kind: 'complete', causedBy: 'nothing', ...chargedEnding, clientReceives: 'answer' },
  { kind: 'output_cap', causedBy: 'upstream', ...cutOff },
  { kind: 'total_time', isUpstreamSilent: true, ...upstreamFailed },
  { kind: 'total_time', isForwarded: true, causedBy: 'time_limit', ...cutOff },
  { kind: 'total_time', isForwarded: false, causedBy: 'time_limit', ...refundedEnding },
  { kind: 'silence', ...upstreamFailed },
  { kind: 'connection_lost', ...slowClient },
  { kind: 'connection_lost', ...upstreamFailed },
  { kind: 'refusal_event', isForwarded: true, causedBy: 'request', ...cutOff },
  { kind: 'refusal_event', causedBy: 'request', ...refundedEnding },
  { kind: 'error_event', ...slowClient },
  { kind: 'error_event', ...upstreamFailed },
  { kind: 'unusable_output', causedBy: 'request', ...refundedEnding },
  { kind: 'too_many_calls', isForwarded: true, causedBy: 'upstream', ...cutOff },
  { kind: 'too_many_calls', ...upstreamFailed },
  { kind: 'answer_length', isForwarded: true, causedBy: 'request', ...cutOff },
  { kind: 'answer_length', ...upstreamFailed },
  { kind: 'invalid_answer', ...upstreamFailed },
  { kind: 'rejected', ...upstreamFailed, countsAgainstTarget: 'by_status' },
  { kind: 'client_gone', causedBy: 'client', ...chargedEnding, clientReceives: 'nothing' },
  { kind: 'client_timeout', causedBy: 'client', ...chargedEnding, clientReceives: 'nothing' },
  { kind: 'shutdown', ...slowClient },
  { kind: 'shutdown', causedBy: 'gateway', ...refundedEnding },
  { kind: 'gateway_fault', causedBy: 'gateway', ...refundedEnding },
]

const conditions = ['isForwarded', 'isClientSlow', 'isUpstreamSilent'] as const

export function findEndingRule(ending: CallEnding): EndingRule {
  const rule = endingRules.find(
    (each) => each.kind === ending.kind && conditions.every((name) => each[name] === undefined || each[name] === ending[name]),
  )
  if (rule === undefined) throw new Error(`no rule for the ending ${ending.kind}`)
  return rule
}

/** The way in which a call ended that failed with this error. */
export function toEndingKind(error: unknown): EndingKind {
  if (!(error instanceof UpstreamFailure)) return 'gateway_fault'
  const { facts } = error
  switch (facts.kind) {
    case 'network':
      return 'connection_lost'
    case 'timeout':
      return facts.phase === 'total' ? 'total_time' : 'silence'
    case 'in_band':
      if (facts.reason === 'no_finish') return 'connection_lost'
      if (facts.reason === 'unusable_output' || facts.reason === 'too_many_calls') return facts.reason
      if (facts.reason === 'too_long') return 'answer_length'
      if (facts.reason !== 'error_object' && facts.reason !== 'bad_finish') return 'invalid_answer'
      return isCausedByRequest(facts) ? 'refusal_event' : 'error_event'
    case 'status':
      return 'rejected'
    case 'unconfigured':
    case 'queue_full':
    case 'resting':
      return 'gateway_fault'
  }
}
