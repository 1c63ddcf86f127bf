/** Serves an endpoint of the operator API: authorizes the operator, validates the input, and answers a repeated write as before. */
import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import type { Router } from '../system/vendor/koa-router.ts'
import type { Context } from 'koa'
import type { z } from 'zod'
import type { BodyOf, Endpoint, ParamsOf, QueryOf, ResponseOf } from '../api/endpoint.ts'
import type { OperatorActor } from '../domain/identity/operators/operator-actor.ts'
import type { OperatorAuthor } from '../domain/services/operators/operator-author.ts'
import { GatewayError, invalidRequest } from '../errors.ts'
import type { Services } from '../services/services.ts'
import { getPathParams, mount, toBodyReadOptions } from './endpoint-handler.ts'
import { requireOperator } from './auth/operator-auth.ts'
import { readJson } from './request/read-body.ts'
import { validate } from './request/validate.ts'
import { toGatewayError } from './response/attempt-limit-error.ts'
import { getClientInfo } from './auth/session-auth.ts'

interface OperatorEndpoint extends Endpoint {
  readonly security: 'operator'
  readonly operator: NonNullable<Endpoint['operator']>
}

interface OperatorInput<E extends Endpoint> {
  readonly ctx: Context
  readonly actor: OperatorActor
  /** With the reason of the body. */
  readonly author: OperatorAuthor
  readonly params: ParamsOf<E>
  readonly query: QueryOf<E>
  readonly body: BodyOf<E>
}

type OperatorResult<E extends Endpoint> = E extends { readonly response: z.ZodType } ? ResponseOf<E> : void

export type ServeOperatorEndpoint = <E extends OperatorEndpoint, const Result extends OperatorResult<E>>(
  endpoint: E,
  handler: (input: OperatorInput<NoInfer<E>>) => Promise<Result>,
) => void

interface Answer {
  readonly status: number
  readonly body: string
}

export function createServeOperatorEndpoint(router: Router, services: Services): ServeOperatorEndpoint {
  const occupy = createOccupancy()
  return (endpoint, handler) => {
    const respond = async (ctx: Context, admitted: OperatorActor): Promise<void> => {
      const client = getClientInfo(ctx, services)
      const query = endpoint.query && validate(endpoint.query, ctx.query)
      const sentBody = endpoint.body && (await readJson(ctx.req, toBodyReadOptions(ctx, services)))
      const body = endpoint.body && validate(endpoint.body, sentBody)
      // A body takes as long as its sender wants, and the role may be gone since.
      const actor = endpoint.body === undefined ? admitted : await requireOperator(ctx, endpoint.operator, services)
      const reason = typeof body?.['reason'] === 'string' ? body['reason'] : null
      const author: OperatorAuthor = { actor, client, reason }
      const input = { ctx, actor, author, params: getPathParams(ctx), query, body } as unknown as OperatorInput<typeof endpoint>
      const act = async (): Promise<OperatorResult<typeof endpoint>> =>
        handler(input).catch((thrown: unknown) => {
          throw toGatewayError(thrown)
        })
      if (endpoint.method === 'get') {
        const result = await act()
        if (endpoint.response === undefined) return
        ctx.status = endpoint.status ?? 200
        ctx.body = result
        return
      }
      const run = async (): Promise<Answer> => ({ status: endpoint.status ?? 200, body: JSON.stringify(await act()) })
      const answer = await runOnce(
        ctx,
        { actor, sent: sentBody, showsSecret: endpoint.operator.showsSecret === true },
        run,
        services,
      )
      ctx.status = answer.status
      ctx.type = 'application/json'
      ctx.body = answer.body
    }
    mount(router, endpoint, async (ctx) => {
      ctx.set({ 'cache-control': 'no-store', 'cross-origin-resource-policy': 'same-origin' })
      const actor = await requireOperator(ctx, endpoint.operator, services)
      const release = occupy(actor)
      try {
        await respond(ctx, actor)
      } finally {
        // A file that is being sent runs on; Koa closes it with the response.
        if (ctx.body instanceof Readable) ctx.body.once('close', release)
        else release()
      }
    })
  }
}

/** Requests that one operator has at a time, all keys together: lists and exports of one must not delay those of others. */
const maxConcurrent = 8

/** Counts a request until the returned function is called. @throws GatewayError `rate_limited` */
function createOccupancy(): (actor: OperatorActor) => () => void {
  const runningByOwner = new Map<string, number>()
  return (actor) => {
    const owner = actor.kind === 'shell' ? actor.session : actor.account
    const before = runningByOwner.get(owner) ?? 0
    if (before >= maxConcurrent) throw new GatewayError('rate_limited', { message: tooManyMessage, retryAfter: 1 })
    runningByOwner.set(owner, before + 1)
    return () => {
      const remainingCount = (runningByOwner.get(owner) ?? 1) - 1
      if (remainingCount === 0) runningByOwner.delete(owner)
      else runningByOwner.set(owner, remainingCount)
    }
  }
}

const tooManyMessage = {
  en: `An operator may have ${maxConcurrent} requests at a time. Wait for the answer of one.`,
  zh: `每位管理员同时最多 ${maxConcurrent} 个请求，请等待其中一个完成。`,
}

interface WriteRequest {
  readonly actor: OperatorActor
  readonly sent: unknown
  readonly showsSecret: boolean
}

/** Runs a write once for each `Idempotency-Key` of an operator. A refused one changed nothing and may be repeated. */
async function runOnce(
  ctx: Context,
  { actor, sent, showsSecret }: WriteRequest,
  run: () => Promise<Answer>,
  { store, clock }: Services,
): Promise<Answer> {
  const { operators } = store
  const owner = actor.kind === 'key' ? actor.key : actor.kind === 'shell' ? 'shell' : actor.account
  const hash = createHash('sha256')
    .update(`${owner}\n${readIdempotencyKey(ctx)}`)
    .digest()
  const fingerprint = createHash('sha256')
    .update(`${ctx.method} ${ctx.path}\n${JSON.stringify(sent)}`)
    .digest('base64url')
  const earlierRequest = await operators.beginRequest(hash, fingerprint, clock.now())
  if (earlierRequest !== undefined) {
    if (earlierRequest.fingerprint !== fingerprint) throw createConflict(conflicts.otherRequest)
    if (earlierRequest.answer === null) throw createConflict(conflicts.unfinished)
    if (earlierRequest.answer.body === null) throw createConflict(conflicts.secret)
    ctx.set('idempotent-replayed', 'true')
    return { status: earlierRequest.answer.status, body: earlierRequest.answer.body }
  }
  try {
    const answer = await run()
    await operators.endRequest(hash, { status: answer.status, body: showsSecret ? null : answer.body })
    return answer
  } catch (thrown) {
    // After a fault of ours it is unknown what was done, so the key stays used.
    if (thrown instanceof GatewayError && thrown.code !== 'internal_error') await operators.forgetRequest(hash)
    throw thrown
  }
}

function readIdempotencyKey(ctx: Context): string {
  const key = ctx.get('idempotency-key')
  if (/^[\x21-\x7e]{1,255}$/.test(key)) return key
  const detail = {
    en: 'every change needs an Idempotency-Key header of 1 to 255 printable characters, new for each change.',
    zh: '每次更改都需要 Idempotency-Key 请求头（1 至 255 个可打印字符），且每次更改使用新的值。',
  }
  throw invalidRequest(detail, 'Idempotency-Key')
}

const conflicts = {
  otherRequest: {
    en: 'This Idempotency-Key was used for another request. Nothing was changed.',
    zh: '该 Idempotency-Key 已用于另一请求，未做任何更改。',
  },
  unfinished: {
    en: 'The first request with this Idempotency-Key still runs, or its end is unknown. Look at the audit log before you repeat it with another key.',
    zh: '使用该 Idempotency-Key 的首个请求仍在执行或结果未知。请先查看审计日志，再用新的值重试。',
  },
  secret: {
    en: 'This was done by the first request with this Idempotency-Key, and its secret is shown once.',
    zh: '使用该 Idempotency-Key 的首个请求已完成，其密钥仅显示一次。',
  },
} as const

function createConflict(message: { readonly en: string; readonly zh: string }): GatewayError {
  return new GatewayError('conflict', { message, shouldRetry: false })
}
