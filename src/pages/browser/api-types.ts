/** Types of the API that pages call, derived from `src/api`; types only. */
import type { z } from 'zod'
import type { completion, chunk } from '../../api/chat.ts'
import type * as connect from '../../api/oauth.ts'
import type { ResponseOf, Endpoint, DeepReadonly, ParamsOf, BodyInputOf, QueryInputOf } from '../../api/endpoint.ts'
import type { envelope } from '../../api/envelope.ts'
import type * as devices from '../../api/membership/devices.ts'
import type * as keys from '../../api/membership/keys.ts'
import type * as sessions from '../../api/membership/sessions.ts'
import type * as signIn from '../../api/membership/sign-in.ts'
import type * as usage from '../../api/membership/usage.ts'
import type * as usageAlerts from '../../api/membership/usage-alerts.ts'

type ApiModules = typeof connect &
  typeof devices &
  typeof keys &
  typeof sessions &
  typeof signIn &
  typeof usage &
  typeof usageAlerts
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

export type Usage = ResponseOf<typeof usage.showUsage>
export type Pool = Usage['pools'][number]
export type Turn = Usage['turns'][number]
export type UsageHistory = ResponseOf<typeof usage.showUsageHistory>
export type UsageGroup = UsageHistory['groups'][number]
export type TurnFilter = Pick<QueryInputOf<typeof usage.listTurns>, 'model' | 'credential' | 'api_format' | 'state'>
export type Boost = ResponseOf<typeof usage.showBoost>
export type Pack = Boost['packs'][number]
export type BoostAction = BodyInputOf<typeof usage.takeBoost>['action']
export type Evidence = Pick<BodyInputOf<typeof signIn.changePassword>, 'current' | 'code'>
export type Key = ResponseOf<typeof keys.listKeys>['data'][number]
export type Session = ResponseOf<typeof sessions.listSessions>['data'][number]
export type AuditRecord = ResponseOf<typeof sessions.listAudit>['data'][number]
export type PendingDevice = ResponseOf<typeof devices.lookUpDevice>['device']
export type ConsentRequest = ResponseOf<typeof connect.showConsentRequest>
export type Decision = BodyInputOf<typeof connect.decideConsentRequest>['decision']
export type Completion = DeepReadonly<z.output<typeof completion>>
export type CompletionChunk = DeepReadonly<z.output<typeof chunk>>
export type TokenUsage = NonNullable<Completion['usage']>
