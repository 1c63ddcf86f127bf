import { filePartKinds } from '../../conversation/media/find-media.ts'
import type { FilePartKind } from '../../conversation/media/find-media.ts'
import type { TargetApi, TargetFacts } from '../../exchange/request/form/request-form.ts'

/** What the configuration of an upstream says about the requests that it accepts. */
interface DialectConfig {
  readonly maxTokensField: CapField
  readonly developerRole: 'developer' | 'system'
  readonly kind?: 'openai' | 'anthropic' | 'gemini' | 'compatible'
  readonly responses?: boolean
  readonly cacheControl?: boolean
  readonly accepts?: readonly FilePartKind[] | null
}

/**
 * The request format that one target accepts: from the configuration, from its model list, and from its rejections of fields that the
 * gateway added. Learned once, it applies to all later turns.
 */
export class Dialect {
  capField: CapField
  developerRole: 'developer' | 'system'
  /** Tokens of prompt and output together; null until the target states it. */
  contextLength: number | null = null
  /** Output tokens; null until the target states it. */
  maxOutputTokens: number | null = null
  /** Fields of the gateway that the target rejects. */
  readonly droppedFields = new Set<string>()
  /** Fields that translations of other API formats set, and that the target rejects; `reasoning_content` is a field of messages. */
  readonly droppedTranslatedFields = new Set<string>()

  /** Kinds of files that it rejects. */
  readonly refusedMedia = new Set<FilePartKind>()
  /** It rejects files in a message of the role `tool`. */
  refusesToolMedia = false
  /** It rejects calls of earlier answers without their reasoning, or without a signature of their thoughts. */
  requiresReasoning = false
  requiresSignatures = false
  /** Accounts whose requests in its own API it has rejected: what they send may be the cause, so others are not concerned. */
  readonly #refusedAccounts = new Set<string>()
  readonly #config: DialectConfig

  constructor(config: DialectConfig) {
    this.capField = config.maxTokensField
    this.developerRole = config.developerRole
    this.#config = config
    const { accepts = null } = config
    if (accepts !== null) for (const kind of filePartKinds) if (!accepts.includes(kind)) this.refusedMedia.add(kind)
  }

  /** Sends requests of this account translated from now on. Returns false if they are already. */
  refuseNative(account: string): boolean {
    if (this.#refusedAccounts.has(account)) return false
    const [oldest] = this.#refusedAccounts
    if (this.#refusedAccounts.size >= maxRefusedAccounts && oldest !== undefined) this.#refusedAccounts.delete(oldest)
    this.#refusedAccounts.add(account)
    return true
  }

  /** What the form of messages and tools depends on, for each account. */
  describeAll(): readonly TargetFacts[] {
    const facts = this.describe('')
    return this.#refusedAccounts.size === 0 ? [facts] : [facts, { ...facts, refusesNative: true }]
  }

  /** What the form of messages and tools depends on. */
  describe(account: string): TargetFacts {
    const { kind = 'compatible', cacheControl = false } = this.#config
    const api = toTargetApi(this.#config)
    // OpenAI has no field for reasoning.
    const rejectsReasoning = kind === 'openai' || this.droppedTranslatedFields.has('reasoning_content')
    return {
      api,
      developerRole: this.developerRole,
      reasoning: this.requiresReasoning ? 'required' : rejectsReasoning ? 'rejected' : 'accepted',
      requiresSignatures: this.requiresSignatures,
      takesMarks: api === 'anthropic' || (api === 'chat' && cacheControl),
      refusedMedia: [...this.refusedMedia],
      refusesToolMedia: this.refusesToolMedia,
      refusesNative: this.#refusedAccounts.has(account),
    }
  }

  /**
   * The cap to send. A cap that the caller set is sent as held; the default is reduced to what the target accepts beside this prompt.
   * `promptTokens` is an estimate; if it is too low, the target rejects the request once and the dialect learns.
   */
  computeOutputCap(heldTokens: number, isDefault: boolean, promptTokens: number): number {
    if (!isDefault) return heldTokens
    let cap = Math.min(heldTokens, this.maxOutputTokens ?? heldTokens)
    if (this.contextLength === null) return cap
    const roomTokens = this.contextLength - addPromptMargin(promptTokens)
    cap = Math.min(cap, roomTokens >= minRoomTokens ? roomTokens : Math.floor(this.contextLength / 4))
    return Math.max(1, cap)
  }
}

/** The API of an upstream's chats. */
export function toTargetApi({ kind, responses = false }: Pick<DialectConfig, 'kind' | 'responses'>): TargetApi {
  return kind === 'anthropic' || kind === 'gemini' ? kind : responses ? 'responses' : 'chat'
}

/** A prompt's estimate with a margin for the target's template and tokenizer: a cap that is a little too large is a rejected request. */
export function addPromptMargin(estimatedTokens: number): number {
  return Math.ceil(estimatedTokens * promptMarginFactor) + promptMarginTokens
}

const promptMarginFactor = 1.25
const promptMarginTokens = 32

type CapField = 'max_tokens' | 'max_completion_tokens'

const maxRefusedAccounts = 1_000

/** With less room than this the estimate of the prompt is not reliable. */
const minRoomTokens = 64
