/** The types of method handlers, derived from the protocol: a missing handler is a type error. */
import type { FocusIntent } from '../engine/terminal-engine.ts'
import type { ParamsOf } from '../protocol/methods.ts'
import type { EventName, Id } from '../protocol/protocol.ts'
import type { FocusMethod, Method } from '../protocol/methods.ts'
import type { ResultOf } from '../protocol/methods.ts'
import type { Focus } from '../protocol/results.ts'

/** A request that has passed every check of the socket. */
export interface Call<M extends Method> {
  readonly method: M
  readonly params: ParamsOf<M>
  readonly requestId: Id
  /** The pane the caller runs in, as sent in its hello. */
  readonly caller: Focus | null
  readonly peer: Peer
}

/** The operations of a handler on the connection of its call. */
export interface Peer {
  subscribe(names: readonly EventName[] | undefined, after: number | undefined): { id: string; gap: boolean }
  unsubscribe(id: string): boolean
}

/** A handler of a focus method receives the intent; other handlers have none and cannot move the focus. */
type Handler<M extends Method> = M extends FocusMethod
  ? (call: Call<M>, intent: FocusIntent) => Promise<ResultOf<M>>
  : (call: Call<M>) => Promise<ResultOf<M>>

export type Handlers<M extends Method = Method> = { readonly [K in M]: Handler<K> }

/** The methods of one family: `Family<'pane'>` is every `pane.…`. */
export type Family<Name extends string> = Extract<Method, `${Name}.${string}`>
