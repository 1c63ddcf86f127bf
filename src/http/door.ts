/**
 * The door: every request passes it first and every answer last. It gives the exchange its id, counts the address, and renders whatever
 * was thrown as the envelope. Rules that hold for all routes are enforced here and nowhere else.
 */
import type { BlockList } from 'node:net'
import type { Context, Middleware, Next } from 'koa'
import { rateHeaders } from '../access/limits/limits.ts'
import type { RateDecision } from '../access/limits/limits.ts'
import { networks, privateNetworks } from '../access/networks.ts'
import { GatewayError } from '../errors.ts'
import { largeBytes, parseChatRequest } from '../exchange/chat-request.ts'
import type { ChatRequest } from '../exchange/chat-request.ts'
import { envelopeReply, traceHeaders } from '../exchange/envelope.ts'
import type { Exchange, ExchangeKind, Inbound } from '../exchange/exchange.ts'
import { toFailure } from '../exchange/outcome.ts'
import { adoptId } from '../exchange/trace-id.ts'
import type { Services } from '../gateway/services.ts'
import { addressPrefix, clientAddress, isTrusted } from './address.ts'
import { inOnePiece } from '../system/parts.ts'
import { readChunks } from './body.ts'
import { cutOff } from './client.ts'
import { readCookie } from './cookie.ts'
import { isSameOrigin } from './origin.ts'

/** What the door leaves on Koa's state for the routes. */
export interface DoorState {
  readonly address: string
  /** This request's exchange, once somebody has asked for it (`exchangeOf`). */
  x?: Exchange
}

export function door(services: Services): Middleware {
  const trusted = networks(services.config.listen.trustedProxies)
  const watch = strangeProxies(trusted, services)
  return async (ctx: Context, next: Next) => {
    const { req } = ctx
    const peer = req.socket?.remoteAddress
    const forwarded = req.headers['x-forwarded-for']
    if (forwarded !== undefined || req.headers.forwarded !== undefined) watch(peer)
    const state: DoorState = { address: clientAddress(peer, forwarded, trusted) }
    ctx.state = state
    try {
      if (!isProbe(ctx.path)) {
        const decision = askForAddress(state.address, services)
        mustBeAllowed(decision instanceof Promise ? await decision : decision)
      }
      await next()
      if (ctx.respond === false) return
      if (ctx.status === 404 && ctx.body == null) throw new GatewayError('not_found')
      const x = exchangeOf(ctx, 'query', services)
      adoptId(x)
      ctx.set(traceHeaders(x))
    } catch (thrown) {
      const failure = toFailure(thrown)
      const x = exchangeOf(ctx, 'query', services)
      if (failure.code === 'internal_error') services.observe.requestFailed(x, failure)
      if (ctx.res.headersSent) {
        cutOff(ctx.res)
        return
      }
      adoptId(x)
      const reply = envelopeReply(x, failure)
      ctx.status = reply.status
      ctx.set(reply.headers)
      ctx.body = reply.body
    }
  }
}

/** The exchange of this request, born at the first call; a request has one, whatever happens to it. */
export function exchangeOf(ctx: Context, kind: ExchangeKind, services: Services): Exchange {
  const state = ctx.state as DoorState
  state.x ??= newExchange(ctx, state.address, kind, services)
  return state.x
}

function newExchange(ctx: Context, address: string, kind: ExchangeKind, services: Services): Exchange {
  const { clock, ids, names } = services
  const now = clock.now()
  const id = ids.next('mbr_', now)
  return {
    id,
    echo: id,
    kind,
    names,
    startedAt: now,
    startedTicks: clock.ticks(),
    inbound: new HttpInbound(ctx, address, services),
    headers: {},
    debug: {},
    attempted: { target: null, status: null },
  }
}

class HttpInbound implements Inbound {
  readonly method: string
  readonly path: string
  readonly headers: Inbound['headers']
  readonly address: string
  readonly #ctx: Context
  readonly #services: Services
  #chat: Promise<ChatRequest> | undefined
  #large: ChatRequest | undefined

  constructor(ctx: Context, address: string, services: Services) {
    this.#ctx = ctx
    this.#services = services
    this.method = ctx.method
    this.path = ctx.path
    this.headers = ctx.req.headers
    this.address = address
  }

  get cookieToken(): string | null {
    const { headers } = this.#ctx.req
    const token = readCookie(headers.cookie, this.#services.names.cookie)
    return token !== null && isSameOrigin(headers, this.#services.origins.site) ? token : null
  }

  chat(member = this.address): Promise<ChatRequest> {
    this.#chat ??= this.#readChat(member)
    return this.#chat
  }

  over(): void {
    this.#large?.over?.()
  }

  async #readChat(member: string): Promise<ChatRequest> {
    const { req, res } = this.#ctx
    const { config, largeBodies, longBodies } = this.#services
    const chunks = await readChunks(req, config.limits.chatBodyBytes, longBodies)
    const bytes = chunks.reduce((sum, { length }) => sum + length, 0)
    if (bytes <= largeBytes) return parseChatRequest(inOnePiece(chunks))
    this.#large = await largeBodies.read(chunks, member, (listener) => void res.once('close', listener))
    return this.#large
  }
}

/** Probes are asked by the machinery that keeps us alive; a limit on them would take us down under load. */
function isProbe(path: string): boolean {
  return path === '/healthz' || path === '/readyz'
}

/**
 * A proxy of one's own that is not named makes all members one address, with one limit: said once, to the operator. A stranger's word from
 * the Internet is nothing to be told of.
 */
function strangeProxies(trusted: BlockList, { log }: Services): (peer: string | undefined) => void {
  const own = privateNetworks()
  const nobody = networks([])
  let said = false
  return (peer) => {
    if (said) return
    const address = clientAddress(peer, undefined, nobody)
    if (isTrusted(address, trusted) || !isTrusted(address, own)) return
    said = true
    log.warn(
      { proxy: address },
      `a proxy at ${address} says for whom it asks and is not believed: all who come through it share one address's limit. ` +
        `If it is yours, set TRUSTED_PROXIES=${address}`,
    )
  }
}

function askForAddress(address: string, { limits, clock, config }: Services): RateDecision | Promise<RateDecision> {
  return limits.byAddress.take(addressPrefix(address), config.limits.addressRpm, clock.ticks())
}

function mustBeAllowed(decision: RateDecision): void {
  if (decision.allowed) return
  const seconds = decision.retryAfterMs / 1000
  throw new GatewayError('rate_limited', {
    retryAfter: seconds,
    headers: rateHeaders('address', decision),
    ...(seconds > 60 ? { shouldRetry: false } : {}),
  })
}
