/** Serving an endpoint of `src/api`: who asks is found out, what was sent is parsed by its schemas, and what is answered is what it says. */
import type { Router } from './router.ts'
import type { Context } from 'koa'
import type { z } from 'zod'
import { addressesOf } from '../api/endpoint.ts'
import type { AnswerOf, BodyOf, Endpoint, ParamsOf, QueryOf } from '../api/endpoint.ts'
import type { Visitor } from '../membership/visitor.ts'
import type { Services } from '../gateway/services.ts'
import { readJson } from './body.ts'
import { asFailure } from './busy.ts'
import { parsed } from './parsed.ts'
import { refuseForeignPages, requireCookie, requireSession, visitorOf } from './visitor.ts'
import type { Member } from './visitor.ts'

/** What a handler is given. */
export interface Asked<E extends Endpoint> {
  readonly ctx: Context
  readonly visitor: Visitor
  /** Who has signed in, where the endpoint is for those alone. */
  readonly member: E['who'] extends 'cookie' | 'session' ? Member : undefined
  readonly params: ParamsOf<E>
  readonly query: QueryOf<E>
  readonly body: BodyOf<E>
}

/** What a handler gives; one that answers in no JSON answers on `ctx`. */
type Given<E extends Endpoint> = E extends { readonly answer: z.ZodType } ? AnswerOf<E> : void

/** `Answer` is inferred from the handler, because only then its literals are taken for what they are. */
export type Serve = <E extends Endpoint, const Answer extends Given<E>>(
  endpoint: E,
  handler: (asked: Asked<NoInfer<E>>) => Promise<Answer>,
) => void

/** Answers may be kept by nobody, unless the handler says otherwise. */
export function serveOn(router: Router, services: Services): Serve {
  return (endpoint, handler) =>
    mount(router, endpoint, async (ctx) => {
      ctx.set('cache-control', 'no-store')
      const member = await memberOf(ctx, endpoint, services)
      const visitor = visitorOf(ctx, services)
      const query = endpoint.query && parsed(endpoint.query, ctx.query)
      const body = endpoint.body && parsed(endpoint.body, await readJson(ctx.req, services.config.limits.otherBodyBytes))
      // What the schemas have read is what the endpoint's own types say; the compiler cannot follow a type through its parameter.
      const asked = { ctx, visitor, member, params: paramsOf(ctx), query, body } as Asked<typeof endpoint>
      const answer = await handler(asked).catch((thrown: unknown) => {
        throw asFailure(thrown)
      })
      if (endpoint.answer === undefined) return
      ctx.status = endpoint.status ?? 200
      ctx.body = answer
    })
}

/** Puts a handler at every address of an endpoint. */
export function mount(
  router: Router,
  endpoint: Pick<Endpoint, 'method' | 'path' | 'alsoAt'>,
  handler: (ctx: Context) => Promise<void>,
): void {
  for (const address of addressesOf(endpoint)) router[endpoint.method](address.replaceAll(/\{(\w+)\}/g, ':$1'), handler)
}

/** What the braces of the path stood for. */
export function paramsOf(ctx: Context): Readonly<Record<string, string>> {
  return (ctx as Context & { params: Record<string, string> }).params
}

async function memberOf(ctx: Context, { who }: Endpoint, services: Services): Promise<Member | undefined> {
  if (who === 'cookie') return requireCookie(ctx, services)
  if (who === 'session') return requireSession(ctx, services)
  if (who === 'visitor') refuseForeignPages(ctx, services)
  return undefined
}
