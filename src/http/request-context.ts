/** The request's exchange: created once per request, with its id and an inbound side that reads the body on demand. */
import type { Context } from 'koa'
import type { AnalyzedChat } from '../exchange/body-parser/body-parser.ts'
import { workerThresholdBytes, parseChatRequest } from '../exchange/request/chat-request.ts'
import type { ChatRequest } from '../exchange/request/chat-request.ts'
import type { Exchange, ExchangeKind, Inbound } from '../exchange/exchange.ts'
import { findApiFormat } from '../formats/api-formats.ts'
import { ExchangeTranslation } from '../formats/exchange-translation.ts'
import type { Services } from '../services/services.ts'
import { concatChunks } from '../system/memory/chunk-list.ts'
import { readChunks, toAddressOwner } from './request/read-body.ts'
import type { ReceivedBody } from './request/read-body.ts'
import { readSessionCookie } from './request/member-cookies.ts'
import { isSameOrigin } from './request/origin.ts'

/** State that the entry middleware sets on the Koa context. */
export interface RequestState {
  readonly address: string
  /** This request's exchange, once `getExchange` has created it. */
  exchange?: Exchange
}

/** Returns the exchange of this request, created at the first call; a request has exactly one. */
export function getExchange(ctx: Context, kind: ExchangeKind, services: Services): Exchange {
  const state = ctx.state as RequestState
  state.exchange ??= createExchange(ctx, state.address, kind, services)
  return state.exchange
}

function createExchange(ctx: Context, address: string, kind: ExchangeKind, services: Services): Exchange {
  const { clock, ids, names, origins } = services
  const now = clock.now()
  const id = ids.next('mbr_', now)
  const translation = createTranslation(ctx.path, services)
  return {
    id,
    responseRequestId: id,
    kind,
    names,
    siteUrl: origins.site,
    startedAt: now,
    startedMonotonicMs: clock.monotonicMs(),
    inbound: new HttpInbound(ctx, address, services, translation),
    ...(translation === undefined ? {} : { translation }),
    headers: {},
    debug: {},
    lastAttempt: { target: null, status: null },
  }
}

/** The translation of a request's API format; undefined for chat completions and everything else. */
export function createTranslation(
  path: string,
  { translator, clock }: Pick<Services, 'translator' | 'clock'>,
): ExchangeTranslation | undefined {
  const format = findApiFormat(path)
  return format === undefined ? undefined : new ExchangeTranslation(format, { settings: translator, now: () => clock.now() })
}

/** So long texts of requests and unread answers are not counted: some hundred turns with long prompts must fit. */
const maxUncountedTextBytes = 1024 * 1024

class HttpInbound implements Inbound {
  readonly method: string
  readonly path: string
  readonly headers: Inbound['headers']
  readonly address: string
  readonly #ctx: Context
  readonly #services: Services
  readonly #translation: ExchangeTranslation | undefined
  #chat: Promise<ChatRequest> | undefined
  #largeChat: AnalyzedChat | undefined
  /** A body whose text is kept, so that it counts until the turn ends. */
  #countedBody: ReceivedBody | undefined
  #isDisposed = false

  constructor(ctx: Context, address: string, services: Services, translation: ExchangeTranslation | undefined) {
    this.#ctx = ctx
    this.#services = services
    this.#translation = translation
    this.method = ctx.method
    this.path = ctx.path
    this.headers = ctx.req.headers
    this.address = address
  }

  get cookieToken(): string | null {
    const { headers } = this.#ctx.req
    const token = readSessionCookie(this.#ctx, this.#services)
    return token !== null && isSameOrigin(headers, this.#services.origins.site) ? token : null
  }

  chat(member = this.address, { hostsSearch = false } = {}): Promise<ChatRequest> {
    this.#chat ??= this.#readChat(member, hostsSearch)
    return this.#chat
  }

  onDisconnect(listener: () => void): void {
    const { res } = this.#ctx
    if (res.destroyed) listener()
    else res.once('close', listener)
  }

  dispose(account?: string): void {
    this.#isDisposed = true
    this.#largeChat?.dispose()
    this.#countedBody?.release()
    if (account !== undefined) this.#countUnreadAnswer(account)
  }

  /** What the client has not taken of its answer stays in memory after the turn, and counts until then as a body of its account does. */
  #countUnreadAnswer(id: string): void {
    const { res } = this.#ctx
    const bytes = res.writableLength
    if (bytes <= maxUncountedTextBytes || res.closed) return
    const reservation = this.#services.limits.bodies.count({ kind: 'account', id }, bytes)
    res.once('close', () => reservation.release())
  }

  async #readChat(member: string, hostsSearch: boolean): Promise<ChatRequest> {
    const translation = this.#translation
    const { chatBodyBytes, agentBodyBytes } = this.#services.config.limits
    const body = await readChunks(this.#ctx.req, {
      maxBytes: translation === undefined ? chatBodyBytes : agentBodyBytes,
      owner: member === this.address ? toAddressOwner(member) : { kind: 'account', id: member },
      services: this.#services,
    })
    try {
      if (body.bytes > workerThresholdBytes) return await this.#parseLargeChat(body, member, hostsSearch)
      const rawBody = concatChunks(body.chunks)
      return translation?.translateRequest(rawBody, member, { hostsSearch }) ?? parseChatRequest(rawBody)
    } finally {
      if (this.#largeChat === undefined || this.#isDisposed || body.bytes <= maxUncountedTextBytes) body.release()
      else this.#countedBody = body
    }
  }

  async #parseLargeChat({ chunks }: Pick<ReceivedBody, 'chunks'>, member: string, hostsSearch: boolean): Promise<ChatRequest> {
    const { res } = this.#ctx
    const translation = this.#translation
    const onDisconnect = (listener: () => void): void => void res.once('close', listener)
    const request = translation === undefined ? null : { path: this.path, hostsSearch }
    this.#largeChat = await this.#services.bodyParser.parse(chunks, member, onDisconnect, request)
    if (this.#largeChat.translated !== null) translation?.acceptTranslated(this.#largeChat.translated)
    return this.#largeChat
  }
}
