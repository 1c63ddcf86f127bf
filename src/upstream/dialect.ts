/**
 * How one target wants to be spoken to: what the configuration says, and what it has said itself, in its model list or in refusing a field
 * that we had added. Learnt once, it holds for every later turn.
 */
export class Dialect {
  capField: CapField
  developerRole: 'developer' | 'system'
  /** Tokens of prompt and answer together; null while it has not said. */
  contextLength: number | null = null
  /** Tokens of an answer; null while it has not said. */
  maxOutput: number | null = null
  /** Fields of ours that it does not take. */
  readonly leftOut = new Set<string>()

  constructor({
    maxTokensField,
    developerRole,
  }: {
    readonly maxTokensField: CapField
    readonly developerRole: 'developer' | 'system'
  }) {
    this.capField = maxTokensField
    this.developerRole = developerRole
  }

  /**
   * The cap to send. One that the caller has named goes as it is paid for; ours is cut to what the target can take beside this prompt.
   * `promptTokens` is a likely count: what it cannot tell, the target does, by refusing once.
   */
  capFor(paidFor: number, isOurs: boolean, promptTokens: number): number {
    if (!isOurs) return paidFor
    let cap = Math.min(paidFor, this.maxOutput ?? paidFor)
    if (this.contextLength === null) return cap
    const room = this.contextLength - promptTokens
    cap = Math.min(cap, room >= leastRoom ? room : Math.floor(this.contextLength / 4))
    return Math.max(1, cap)
  }
}

export type CapField = 'max_tokens' | 'max_completion_tokens'

/** With less beside it, the count of the prompt is not to be trusted. */
const leastRoom = 64
