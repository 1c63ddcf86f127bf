/** Types of the API that pages call, derived from `src/api`; types only. */
import type { z } from 'zod'
import type { completion, chunk } from '../../api/models/chat.ts'
import type { ResponseOf, Endpoint, DeepReadonly, ParamsOf, BodyInputOf, QueryInputOf } from '../../api/endpoint.ts'
import type { envelope } from '../../api/envelope.ts'
import type * as signIn from '../../api/membership/sign-in.ts'
import type * as usage from '../../api/membership/usage.ts'

type ApiModules = typeof signIn & typeof usage
type AnyEndpoint = Extract<ApiModules[keyof ApiModules], Endpoint>

/** Endpoints that pages may call, by method and by path. */
export type ApiEndpoint<Method extends string = string, Path extends string = string> = Extract<
  AnyEndpoint,
  { readonly method: Method; readonly path: Path }
>

/** The body, query and parameters of a request; absent where the endpoint has none. */
export type RequestArguments<E> = E extends Endpoint
  ? keyof RequestParts<E> extends never
    ? []
    : keyof RequestParts<E> extends 'query'
      ? [RequestParts<E>?]
      : [RequestParts<E>]
  : never
type RequestParts<E extends Endpoint> = (E extends { readonly body: unknown } ? { readonly body: BodyInputOf<E> } : unknown) &
  (E extends { readonly query: unknown } ? { readonly query?: QueryInputOf<E> } : unknown) &
  (keyof ParamsOf<E> extends never ? unknown : { readonly params: ParamsOf<E> })

export type ErrorEnvelope = DeepReadonly<z.output<typeof envelope>>

type Usage = ResponseOf<typeof usage.showUsage>
export type Pool = Usage['pools'][number]
export type Turn = Usage['turns'][number]
export type Completion = DeepReadonly<z.output<typeof completion>>
export type CompletionChunk = DeepReadonly<z.output<typeof chunk>>
export type TokenUsage = NonNullable<Completion['usage']>
