/**
 * What a plugin may use of the service: ports and types of the domain, and nothing of how they are made. What is not here (the store, the
 * metrics, the desks, the wire) is no plugin's affair, and may change without telling one.
 */
import type { Credential } from '../access/credentials.ts'
import type { RateDecision } from '../access/limits/limits.ts'
import type { Ledger } from '../membership/ledger.ts'
import type { Calendar } from '../membership/period.ts'
import type { Plan, Plans } from '../membership/plan.ts'
import type { Product, Target } from '../membership/product.ts'
import type { Clock } from '../system/clock.ts'
import type { Ids } from '../system/ids.ts'
import type { FieldRules } from './fields.ts'

export interface PluginServices {
  readonly config: PluginSettings
  /** Absolute addresses for links, from the configuration alone. */
  readonly origins: { readonly site: string; readonly base: string }
  readonly clock: Clock
  readonly ids: Ids
  readonly log: PluginLog
  readonly ledger: Pick<Ledger, 'reserve' | 'settle' | 'refund' | 'balance'>
  readonly calendar: Calendar
  /** Whose token this is. A promise only where the store must be asked. */
  readonly credentials: { resolve(token: string): Credential | null | Promise<Credential | null> }
  /** Whose token this is, where an operator's own identity provider signed it. */
  readonly jwt: { resolve(token: string): Promise<Credential | null> }
  readonly limits: {
    /** Requests a minute, over all credentials of an account. A promise only where somebody else counts them. */
    readonly byAccount: { take(account: string, perMinute: number, ticks: number): RateDecision | Promise<RateDecision> }
    /** Turns that run; `enter` is false where `limit` do. */
    readonly running: { enter(account: string, limit: number): boolean; leave(account: string): void }
  }
  readonly products: {
    /** What is sold. */
    readonly all: readonly Product[]
    /** Sold or not. */
    get(id: string): Product | undefined
    availableTo(plan: Plan, now: number): readonly Product[]
    isGone(product: Product, now: number): boolean
    deprecationHeaders(product: Product): Record<string, string>
  }
  /** The targets behind the products: those that can serve now, best first. */
  readonly upstreams: {
    candidates(targets: readonly Target[], fallbackModel: string | null, ticks: number): readonly LiveTarget[]
  }
  /** This installation's own secret (32 bytes), from which every keyed hash is derived. */
  readonly secret: Buffer
}

/** What a plugin may go by of the configuration; the fields are described where it is read, in `src/config/shape.ts`. */
export interface PluginSettings extends Plans {
  readonly exposeUpstreamHost: boolean
  readonly limits: { readonly imageTokens: number }
  readonly timeouts: { readonly totalMs: number }
  readonly images: { readonly style: string }
  readonly search: { readonly backend: string; readonly maxResults: number }
  readonly upstreams: Readonly<Record<string, FieldRules>>
}

/** One line of the log: what it is about, and the sentence. */
export type PluginLog = Readonly<Record<'debug' | 'info' | 'warn' | 'error', (about: object, sentence: string) => void>>

/** A target that may be called now. */
export interface LiveTarget {
  /** `upstream/model`. */
  readonly name: string
  readonly model: string
  readonly upstream: { readonly name: string; readonly config: FieldRules }
  /** How it wants to be spoken to. */
  readonly dialect: {
    readonly capField: 'max_tokens' | 'max_completion_tokens'
    readonly developerRole: 'developer' | 'system'
    /** Fields of ours that it does not take. */
    readonly leftOut: ReadonlySet<string>
    /** The cap to send: what is paid for or, where the number is ours, what it can take beside a prompt of so many tokens. */
    capFor(paidFor: number, isOurs: boolean, promptTokens: number): number
  }
}
