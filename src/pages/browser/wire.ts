/** What goes over the wire between a page and the service: the types of `src/api`, and nothing of it but types. */
import type { z } from 'zod'
import type { completion, chunk } from '../../api/chat.ts'
import type * as connect from '../../api/connect.ts'
import type { AnswerOf, Endpoint, Fixed, ParamsOf, SentTo } from '../../api/endpoint.ts'
import type { envelope } from '../../api/envelope.ts'
import type * as devices from '../../api/membership/devices.ts'
import type * as keys from '../../api/membership/keys.ts'
import type * as sessions from '../../api/membership/sessions.ts'
import type * as signIn from '../../api/membership/sign-in.ts'
import type * as usage from '../../api/membership/usage.ts'

type Areas = typeof connect & typeof devices & typeof keys & typeof sessions & typeof signIn & typeof usage
type Every = Extract<Areas[keyof Areas], Endpoint>

/** The endpoints that pages may ask; of this method; of this path. */
export type Known<Method extends string = string, Path extends string = string> = Extract<
  Every,
  { readonly method: Method; readonly path: Path }
>

/** What a request says besides its address; nothing where there is nothing to say. */
export type Sent<E> = E extends Endpoint ? (keyof Told<E> extends never ? [] : [Told<E>]) : never
type Told<E extends Endpoint> = (E extends { readonly body: unknown } ? { readonly body: SentTo<E> } : unknown) &
  (keyof ParamsOf<E> extends never ? unknown : { readonly params: ParamsOf<E> })

export type Envelope = Fixed<z.output<typeof envelope>>

export type Usage = AnswerOf<typeof usage.showUsage>
export type Pool = Usage['pools'][number]
export type Turn = Usage['turns'][number]
export type UsedDay = Usage['days'][number]
export type Boost = AnswerOf<typeof usage.showBoost>
export type Pack = Boost['packs'][number]
export type BoostAction = SentTo<typeof usage.takeBoost>['action']
export type Evidence = Pick<SentTo<typeof signIn.changePassword>, 'current' | 'code'>
export type Key = AnswerOf<typeof keys.listKeys>['data'][number]
export type Session = AnswerOf<typeof sessions.listSessions>['data'][number]
export type AuditRecord = AnswerOf<typeof sessions.listAudit>['data'][number]
export type AskingDevice = AnswerOf<typeof devices.lookUpDevice>['device']
export type ConnectRequest = AnswerOf<typeof connect.showRequest>
export type Decision = SentTo<typeof connect.decideRequest>['decision']
export type Completion = Fixed<z.output<typeof completion>>
export type CompletionChunk = Fixed<z.output<typeof chunk>>
export type TokenUsage = NonNullable<Completion['usage']>
