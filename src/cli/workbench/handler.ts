/** What a method is handed and what it is made of, derived from the protocol: a handler forgotten is a type error. */
import type { FocusIntent } from './engine.ts'
import type { ParamsOf } from './params.ts'
import type { EventName, FocusMethod, Id, Method } from './protocol.ts'
import type { Focus, Results } from './results.ts'

/** One request that has passed every check of the socket. */
export interface Call<M extends Method> {
  readonly method: M
  readonly params: ParamsOf<M>
  readonly requestId: Id
  /** The pane the caller runs in, as it told in its hello. */
  readonly caller: Focus | null
  readonly peer: Peer
}

/** What a handler may do to the connection its call came on. */
export interface Peer {
  subscribe(names: readonly EventName[] | undefined, after: number | undefined): { id: string; gap: boolean }
  unsubscribe(id: string): boolean
}

/** A handler of a focus method gets the intent; every other handler has none and so cannot call what moves the focus. */
export type Handler<M extends Method> = M extends FocusMethod
  ? (call: Call<M>, intent: FocusIntent) => Promise<Results[M]>
  : (call: Call<M>) => Promise<Results[M]>

export type Handlers<M extends Method = Method> = { readonly [K in M]: Handler<K> }

/** The methods of one family: `Family<'pane'>` is every `pane.…`. */
export type Family<Name extends string> = Extract<Method, `${Name}.${string}`>
