/** Serves an endpoint of `src/api`: authenticates the client, validates the input by its schemas, and types the response. */
import type { Router } from '../system/vendor/koa-router.ts'
import type { Context } from 'koa'
import type { z } from 'zod'
import { getPaths } from '../api/endpoint.ts'
import { printable } from '../api/fields.ts'
import type { ResponseOf, BodyOf, Endpoint, ParamsOf, QueryOf } from '../api/endpoint.ts'
import type { BodyOwner } from '../access/limits/body-budget.ts'
import type { CallResult } from '../exchange/exchange.ts'
import { zeroUsage } from '../exchange/exchange.ts'
import { privateJsonHeaders } from '../exchange/response-headers.ts'
import { GatewayError } from '../errors.ts'
import type { ClientInfo } from '../domain/identity/client-info.ts'
import type { Services } from '../services/services.ts'
import { readJson, toAddressOwner } from './request/read-body.ts'
import type { BodyReadOptions } from './request/read-body.ts'
import type { RequestState } from './request-context.ts'
import { toGatewayError } from './response/attempt-limit-error.ts'
import { validate } from './request/validate.ts'
import { refuseCrossSite, requireSessionCookie, requireSession, getClientInfo } from './auth/session-auth.ts'
import type { Member } from './auth/session-auth.ts'

/** The input of a handler. */
interface HandlerInput<E extends Endpoint> {
  readonly ctx: Context
  readonly clientInfo: ClientInfo
  /** The signed-in member; undefined where the endpoint requires no session. */
  readonly member: E['security'] extends 'session_cookie' | 'session' ? Member : undefined
  readonly params: ParamsOf<E>
  readonly query: QueryOf<E>
  readonly body: BodyOf<E>
}

/** The response body of a handler. A handler of an endpoint without a JSON response writes to `ctx`. */
type HandlerResult<E extends Endpoint> = E extends { readonly response: z.ZodType } ? ResponseOf<E> : void

/** `Result` is inferred from the handler, so that its literals keep their literal types. */
export type ServeEndpoint = <E extends Endpoint, const Result extends HandlerResult<E>>(
  endpoint: E,
  handler: (input: HandlerInput<NoInfer<E>>) => Promise<Result>,
) => void

/** Responses are not cacheable unless the handler sets another `cache-control`. */
export function createServeEndpoint(router: Router, services: Services): ServeEndpoint {
  return (endpoint, handler) =>
    mount(router, endpoint, async (ctx) => {
      ctx.set('cache-control', 'no-store')
      const member = await authenticate(ctx, endpoint, services)
      const clientInfo = getClientInfo(ctx, services)
      const query = endpoint.query && validate(endpoint.query, ctx.query)
      const body = endpoint.body && validate(endpoint.body, await readJson(ctx.req, toBodyReadOptions(ctx, services)))
      // The schemas produce the endpoint's own types; the compiler cannot follow a type through its parameter.
      const input = { ctx, clientInfo, member, params: getPathParams(ctx), query, body } as HandlerInput<typeof endpoint>
      const result = await handler(input).catch((thrown: unknown) => {
        throw toGatewayError(thrown)
      })
      if (endpoint.response === undefined) return
      ctx.status = endpoint.status ?? 200
      ctx.body = result
    })
}

/** How the body of a request other than a turn is read. */
export function toBodyReadOptions(ctx: Context, services: Services): BodyReadOptions {
  const { address } = ctx.state as RequestState
  return { maxBytes: services.config.limits.otherBodyBytes, owner: toAddressOwner(address), services }
}

/** The account that a body counts for, or without one the client's address. */
export function toMemberOwner(ctx: Context, member: string | undefined): BodyOwner {
  return member === undefined ? toAddressOwner((ctx.state as RequestState).address) : { kind: 'account', id: member }
}

/** Registers a handler at every path of an endpoint. */
export function mount(
  router: Router,
  endpoint: Pick<Endpoint, 'method' | 'path' | 'aliases'>,
  handler: (ctx: Context) => Promise<void>,
): void {
  for (const address of getPaths(endpoint)) router[endpoint.method](toRoute(address), handler)
}

/** A colon of the path itself begins no parameter. */
function toRoute(address: string): string {
  return address.replaceAll(':', String.raw`\:`).replaceAll(/\{(\w+)\}/g, ':$1')
}

/** Returns the values of the path's `{parameters}`. */
export function getPathParams(ctx: Context): Readonly<Record<string, string>> {
  const { params } = ctx as Context & { params: Record<string, string> }
  // Nothing has such a name, and PostgreSQL fails at a zero character.
  if (Object.values(params).some((value) => !printable.test(value))) throw new GatewayError('not_found')
  return params
}

/** The result of a plugin chain that answers an endpoint with JSON, which shared caches must not store. */
export function createDocumentAnswer<E extends Endpoint>(endpoint: E, body: ResponseOf<E>): CallResult {
  return {
    usage: zeroUsage,
    final: { kind: 'reply', reply: { status: endpoint.status ?? 200, headers: privateJsonHeaders, body: JSON.stringify(body) } },
  }
}

async function authenticate(
  ctx: Context,
  { security }: Endpoint,
  services: Pick<Services, 'credentials' | 'names' | 'origins'>,
): Promise<Member | undefined> {
  if (security === 'session_cookie') return requireSessionCookie(ctx, services)
  if (security === 'session') return requireSession(ctx, services)
  if (security === 'same_site') refuseCrossSite(ctx, services)
  return undefined
}
