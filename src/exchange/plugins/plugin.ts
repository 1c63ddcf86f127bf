/** The contract of a plugin: a plain named object with at most five hooks. Every hook runs in list order. */
import type { GatewayError } from '../../errors.ts'
import type { Exchange, Outcome, Reply, Slot, Slots } from '../exchange.ts'
import type { PluginServices } from './plugin-services.ts'
import type { UpstreamFailure } from '../upstream-failure.ts'

/** The upstream has accepted; nothing has been sent to the client. */
export interface ResponseHead {
  readonly status: number
  readonly stream: boolean
}

export interface Plugin<Needs extends Slot = never, Gives extends Slot = never> {
  /** One word: file name, metric label, table row. */
  readonly name: string
  /** Slots that must be filled by earlier plugins. Checked at start. */
  readonly needs?: readonly Needs[]
  /** Slots that this plugin fills in `onRequest`. */
  readonly gives?: readonly Gives[]
  /** Plugins that must follow, because this one depends on their work. Checked at start. */
  readonly followedBy?: readonly string[]
  /** Only for turns; the default is every exchange. */
  readonly on?: 'turn'
  /** Before the call. Throw to reject; return a reply to answer here. */
  onRequest?(x: PluginInput<Needs, Gives>, services: PluginServices): void | Reply | Promise<void | Reply>
  /** The upstream has accepted; nothing has been sent to the client. */
  onResponse?(x: ExchangeWith<Needs | Gives>, head: ResponseHead, services: PluginServices): void | Promise<void>
  /** Each streamed event, as its JSON text. Synchronous. */
  onEvent?(x: ExchangeWith<Needs | Gives>, event: string): void
  /**
   * Only after a failure. Return another failure to replace it; an `UpstreamFailure` that no plugin replaces reaches the client as
   * `internal_error`.
   */
  onFailure?(
    x: ExchangeWith<Needs | Gives>,
    failure: GatewayError | UpstreamFailure,
    services: PluginServices,
  ): void | GatewayError
  /** Exactly once, whatever happened, before the client receives the end. */
  onSettle?(x: ExchangeWith<Needs | Gives>, outcome: Outcome, services: PluginServices): void | Promise<void>
}

/** The exchange in `onRequest`: `needs` are filled, `gives` not yet. */
type PluginInput<Needs extends Slot, Gives extends Slot> = Exchange & Readonly<Pick<Slots, Needs>> & Partial<Pick<Slots, Gives>>

/** The exchange in later hooks, which run only if these are filled. */
export type ExchangeWith<Has extends Slot> = Exchange & Pick<Slots, Has>

/** Any plugin. It only receives exchanges on which its slots are filled (`plugin-order.ts`, `plugin-chain.ts`). */
export type AnyPlugin = Plugin<Slot, Slot>

/** Infers a plugin's types from its `needs` and `gives`. */
export function definePlugin<const Needs extends Slot = never, const Gives extends Slot = never>(
  plugin: Plugin<Needs, Gives>,
): Plugin<Needs, Gives> {
  return plugin
}
