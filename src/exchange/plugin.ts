/** The contract of a plugin: a plain named object with at most five hooks. List order is time order, in every hook. */
import type { GatewayError } from '../errors.ts'
import type { Exchange, Outcome, Reply, Slot, Slots } from './exchange.ts'
import type { PluginServices } from './plugin-services.ts'
import type { UpstreamFailure } from './upstream-failure.ts'

/** What the upstream's acceptance looks like, before anything has been sent to the client. */
export interface ResponseHead {
  readonly status: number
  readonly stream: boolean
}

export interface Plugin<Needs extends Slot = never, Gives extends Slot = never> {
  /** One word: the file's name, the metric's label, the row in the table. */
  readonly name: string
  /** Slots that must be filled before me. Checked at start. */
  readonly needs?: readonly Needs[]
  /** Slots I fill in `onRequest`. */
  readonly gives?: readonly Gives[]
  /** Plugins without which my work stays half done, listed after me. Checked at start. */
  readonly followedBy?: readonly string[]
  /** Only when a model is called; the default is every exchange. */
  readonly on?: 'turn'
  /** Before the call. Throw to fail; return a reply to answer here. */
  onRequest?(x: Asking<Needs, Gives>, services: PluginServices): void | Reply | Promise<void | Reply>
  /** The upstream has accepted; nothing has been sent to the client yet. */
  onResponse?(x: Filled<Needs | Gives>, head: ResponseHead, services: PluginServices): void | Promise<void>
  /** Each streamed event, as its JSON text. Synchronous. */
  onEvent?(x: Filled<Needs | Gives>, event: string): void
  /** Only if it failed. Return another failure to rename this one; an upstream's own that nobody judges reaches the caller as `internal_error`. */
  onFailure?(x: Filled<Needs | Gives>, failure: GatewayError | UpstreamFailure, services: PluginServices): void | GatewayError
  /** Exactly once, whatever happened, before the client sees the end. */
  onSettle?(x: Filled<Needs | Gives>, outcome: Outcome, services: PluginServices): void | Promise<void>
}

/** The exchange in `onRequest`: what I need is there, what I give is not yet. */
export type Asking<Needs extends Slot, Gives extends Slot> = Exchange & Readonly<Pick<Slots, Needs>> & Partial<Pick<Slots, Gives>>

/** The exchange in every later hook: a hook runs only where these are filled. */
export type Filled<Has extends Slot> = Exchange & Pick<Slots, Has>

/** Any plugin, whatever its slots: what a list holds. It is only handed exchanges on which its own are filled (`order.ts`, `run.ts`). */
export type AnyPlugin = Plugin<Slot, Slot>

/** Gives a plugin's object its types from its own `needs` and `gives`. */
export function definePlugin<const Needs extends Slot = never, const Gives extends Slot = never>(
  plugin: Plugin<Needs, Gives>,
): Plugin<Needs, Gives> {
  return plugin
}
