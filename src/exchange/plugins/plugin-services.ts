/**
 * The services that a plugin may use: ports and domain types. Everything else (store, metrics, domain services, HTTP) is internal and may
 * change without notice to plugins.
 */
import type { UpstreamCost } from '../../domain/billing/catalog/upstream-cost.ts'
import type { AvailableBoost } from '../../domain/billing/boost.ts'
import type { Ledger } from '../../domain/billing/ledger.ts'
import type { Calendar } from '../../domain/billing/period.ts'
import type { Plan, Plans } from '../../domain/billing/catalog/plan.ts'
import type { Purchase } from '../../domain/billing/purchase.ts'
import type { Product, Target } from '../../domain/billing/catalog/product.ts'
import type { Account } from '../../domain/identity/account.ts'
import type { Clock } from '../../system/clock.ts'
import type { Ids } from '../../system/ids.ts'
import type { Exchange, Slots } from '../exchange.ts'
import type { FieldPolicy } from '../request/field-policy.ts'
import type { TargetFacts } from '../request/form/request-form.ts'

export interface PluginServices {
  readonly config: PluginSettings
  /** Absolute URLs for links, from the configuration only. */
  readonly origins: { readonly site: string; readonly base: string }
  readonly clock: Clock
  readonly ids: Ids
  readonly log: PluginLog
  readonly ledger: Pick<Ledger, 'reserve' | 'settle' | 'refund' | 'balance'>
  readonly calendar: Calendar
  /** Boosts that a member can take now. */
  readonly boosts: { listAvailable(account: Account): Promise<readonly AvailableBoost[]> }
  /** What a member can buy now, and whether packs that the member bought are spent. */
  readonly purchases: {
    list(account: Account): Promise<readonly Purchase[]>
    readSpendsPacks(account: Account): Promise<boolean>
  }
  /** Resolves a token. Returns a promise only if the store must be queried. */
  readonly credentials: { resolve(token: string): Credential | null | Promise<Credential | null> }
  /** Resolves a JWT of an operator's own identity provider. */
  readonly jwt: { resolve(token: string): Promise<Credential | null> }
  readonly limits: {
    /** Requests per minute, over all credentials of an account. Returns a promise only if a shared store counts them. */
    readonly byAccount: {
      consume(account: string, perMinute: number, monotonicMs: number): RateDecision | Promise<RateDecision>
      /** Gives back an allowed request that was refused for another reason. */
      restore(account: string, perMinute: number, monotonicMs: number): void
    }
    /** Concurrent turns; `acquire` returns false if `limit` are running. */
    readonly concurrency: {
      acquire(account: string, limit: number): boolean
      /** Waits in order for at most `maxWaitMs`; false if no slot became free. Rejects when the client disconnects. */
      wait(account: string, limit: number, onDisconnect: (listener: () => void) => void): Promise<boolean>
      release(account: string): void
      readonly maxWaitMs: number
    }
    /** Accounts whose files recently cost more than was reserved for them. */
    readonly costlyMedia: {
      has(account: string, monotonicMs: number): boolean
      add(account: string, monotonicMs: number): void
    }
    /** Token counts, which have few slots for each account; `acquire` returns false if none is free. */
    readonly tokenCounts: {
      acquire(account: string): boolean
      /** Waits for a slot; false if there is none in time. Rejects when the client disconnects. */
      wait(account: string, onDisconnect: (listener: () => void) => void): Promise<boolean>
      release(account: string): void
    }
    /** Milliseconds after which a refused client should retry; clients of one account get different times. */
    readonly retryTimes: {
      next(account: string, time: { readonly earliestMs: number; readonly stepMs: number }, monotonicMs: number): number
    }
  }
  readonly products: {
    /** Products that can be served. */
    readonly all: readonly Product[]
    /** Any configured product. */
    get(id: string): Product | undefined
    availableTo(plan: Plan, now: number): readonly Product[]
    isRetired(product: Product, now: number): boolean
    deprecationHeaders(product: Product): Record<string, string>
  }
  /** Which addresses in messages may go upstream; the strictest of the upstreams decides. */
  readonly mediaAddresses: {
    findFault(addresses: readonly string[], upstreams: readonly string[]): Promise<'refused' | 'not_public' | 'too_many' | null>
  }
  /** The targets of the products that can serve this turn now, best first. */
  readonly upstreams: {
    selectCandidates(
      targets: readonly Target[],
      fallbackModel: string | null,
      monotonicMs: number,
      x?: Exchange & Partial<Slots>,
    ): readonly LiveTarget[]
    /** Milliseconds until the first of these targets is back; null unless operators have taken out all that are set up. */
    findReturnMs(targets: readonly Target[], fallbackModel: string | null, monotonicMs: number): number | null
  }
  /** This installation's secret (32 bytes), from which every keyed hash is derived. */
  readonly secret: Buffer
}

/** A valid credential and the account that it belongs to. */
export interface Credential {
  /** `session`: device login. `cookie`: sign-in on the website. `app`: a member's consent, valid for the tool server only. */
  readonly kind: 'key' | 'session' | 'cookie' | 'app' | 'jwt'
  readonly id: string
  readonly account: Account
  readonly expiresAt: number | null
}

/** A rate limiter's decision. Times are milliseconds. */
export interface RateDecision {
  readonly allowed: boolean
  /** Requests a minute. */
  readonly limit: number
  readonly remaining: number
  /** Time until the whole limit is available again. */
  readonly resetMs: number
  /** Time until one more request is allowed; 0 when it is allowed now. */
  readonly retryAfterMs: number
}

/** The part of the configuration that plugins may use; `src/config/schema/config-schema.ts` describes the fields. */
export interface PluginSettings extends Plans {
  readonly exposeUpstreamHost: boolean
  readonly limits: { readonly imageTokens: number }
  readonly timeouts: { readonly totalMs: number }
  readonly images: { readonly style: string }
  readonly search: { readonly backend: string; readonly maxResults: number }
  readonly upstreams: Readonly<Record<string, FieldPolicy>>
}

/** Writes one line of the log: the details, and the sentence. */
export type PluginLog = Readonly<Record<'debug' | 'info' | 'warn' | 'error', (about: object, sentence: string) => void>>

/** A target that can be called now. */
export interface LiveTarget {
  /** `upstream/model`. */
  readonly name: string
  readonly model: string
  readonly cost?: UpstreamCost | null
  readonly upstream: { readonly name: string; readonly config: FieldPolicy }
  /** The request format that it accepts. */
  readonly dialect: {
    readonly capField: 'max_tokens' | 'max_completion_tokens'
    readonly developerRole: 'developer' | 'system'
    /** Fields of the gateway that it rejects. */
    readonly droppedFields: ReadonlySet<string>
    /** Fields that translations of other API formats set, and that it rejects; `reasoning_content` is a field of messages. */
    readonly droppedTranslatedFields: ReadonlySet<string>
    /** What the form of messages and tools depends on. */
    describe(account: string): TargetFacts
    describeAll(): readonly TargetFacts[]
    /** The cap to send: the one that is held or, if it is the default, what the target accepts beside a prompt of so many tokens. */
    computeOutputCap(heldTokens: number, isDefault: boolean, promptTokens: number): number
  }
}
