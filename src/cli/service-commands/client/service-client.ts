/** Sends requests to the service and maps transport failures. Redirects are not followed: they would carry the token along. */
import type { ResponseOf, Endpoint, BodyInputOf } from '../../../api/endpoint.ts'
import type { listNotices } from '../../../api/notices.ts'
import type { Context } from '../../context.ts'
import { CommandFailure } from '../../failure.ts'
import { fitLines } from '../../terminal/fit-lines.ts'
import { readVersion } from '../../../system/version.ts'
import { findNewNotices, printNotices, showsNotices } from './notices.ts'
import type { ShownNotice } from './notices.ts'
import { toServiceFailure } from './service-failure.ts'
import type { Credential, Site } from './site.ts'
import { tryParseJson } from '../../../system/parse-json.ts'
import '../../../system/vendor/undici-fetch.ts'

interface ServiceRequest {
  readonly method: 'GET' | 'POST'
  /** `/v1/…` goes to the API's address, every other path to the site. */
  readonly path: string
  readonly body?: unknown
  readonly credential?: Credential
  /** Cancels this request only; Ctrl-C for the whole command is always added. */
  readonly signal?: AbortSignal
  /** Limit for the whole answer, or for a stream between two chunks. `--timeout` takes precedence. */
  readonly timeoutMs?: number
  /** It is the request for notices itself, which needs no other one. */
  readonly isNoticeCheck?: true
}

interface JsonAnswer {
  readonly body: unknown
  readonly requestId: string
  readonly headers: Headers
}

/** A request to an endpoint of `src/api`: the endpoint defines its method, path and body. */
type EndpointRequest<E extends Endpoint> = Omit<ServiceRequest, 'method' | 'path' | 'body'> & {
  readonly method: Uppercase<E['method']>
  readonly path: E['path']
} & (E extends { readonly body: object }
    ? { readonly body: BodyInputOf<E> }
    : { readonly body?: Readonly<Record<string, never>> })

/** An answer of a service whose version may differ: each field has the endpoint's type, and any field may be missing. */
export type DeepPartial<T> = T extends readonly (infer Item)[]
  ? readonly DeepPartial<Item>[]
  : T extends object
    ? { readonly [K in keyof T]?: DeepPartial<T[K]> | undefined }
    : T

const defaultTimeoutMs = 30_000
const noticeTimeoutMs = 1_500
/** Far above every document of the service; a longer body comes from something else. */
const maxAnswerBytes = 32 * 1024 * 1024

/**
 * Sends one request and returns its JSON answer. Throws the service's failure with its Ref line, `unreachable` with the cause and
 * the request id, or `timeout`.
 */
export async function requestJson(context: Context, site: Site, request: ServiceRequest): Promise<JsonAnswer> {
  await using exchange = await openExchange(context, site, request, 'application/json')
  const body = tryParseJson(await exchange.text())
  if (body === undefined) throw createNotServiceFailure(exchange.url, exchange.response)
  return { body, requestId: exchange.requestId, headers: exchange.response.headers }
}

/** `requestJson` typed by an endpoint: `callEndpoint<typeof showUsage>(context, site, { method: 'GET', path: '/api/membership/usage', … })`. */
export async function callEndpoint<E extends Endpoint>(
  context: Context,
  site: Site,
  request: EndpointRequest<E> & ServiceRequest,
): Promise<{ readonly answer: DeepPartial<ResponseOf<E>>; readonly requestId: string }> {
  const { body, requestId } = await requestJson(context, site, request)
  // `printAnswer` checks the fields when it formats them; here the body only has to be an object.
  if (typeof body !== 'object' || body === null || Array.isArray(body)) throw createUnexpectedAnswerFailure(site)
  return { answer: body as DeepPartial<ResponseOf<E>>, requestId }
}

/** Prints an answer. Fields of an unexpected type are a failure for text; `--json` prints the answer unchanged. */
export function printAnswer<Body>(context: Context, site: Site, answer: Body, toText: (answer: Body) => string): void {
  context.printResult(answer, () => {
    try {
      return fitLines(context.stdout, toText(answer))
    } catch (error) {
      throw error instanceof TypeError ? createUnexpectedAnswerFailure(site, error) : error
    }
  })
}

interface Exchange extends AsyncDisposable {
  readonly url: URL
  readonly response: Response
  readonly requestId: string
  /** The body in chunks; the time limit restarts with each. */
  chunks(): AsyncGenerator<Uint8Array>
  text(): Promise<string>
}

/** Sends the request and returns when a successful answer has begun. Disposing the exchange closes the connection. */
export async function openExchange(context: Context, site: Site, request: ServiceRequest, accept: string): Promise<Exchange> {
  if (request.isNoticeCheck !== true) checkNotices(context, site)
  const url = new URL((request.path.startsWith('/v1/') ? site.apiUrl : site.siteUrl) + request.path)
  const requestId = createRequestId(context)
  const limit = new Deadline(context.timeoutMs ?? request.timeoutMs ?? defaultTimeoutMs)
  const stops = [context.signal, limit.signal, ...(request.signal === undefined ? [] : [request.signal])]
  const explain = (error: unknown) => toFailure(error, url, requestId, limit, stops)
  context.printDetail(`${request.method} ${url.href} · x-${site.brand}-request-id: ${requestId}`)
  try {
    const response = await fetch(url, {
      method: request.method,
      headers: {
        // The service writes emails about this device in them.
        'accept-language': context.language,
        'x-time-zone': new Intl.DateTimeFormat().resolvedOptions().timeZone,
        accept,
        [`x-${site.brand}-request-id`]: requestId,
        'user-agent': `svc/${readVersion()}`,
        ...(request.body === undefined ? {} : { 'content-type': 'application/json' }),
        ...(request.credential === undefined ? {} : { authorization: `Bearer ${request.credential.token}` }),
      },
      // A redirect would carry the token to an address that the user did not choose.
      redirect: 'manual',
      signal: AbortSignal.any(stops),
      ...(request.body === undefined ? {} : { body: JSON.stringify(request.body) }),
    })
    const exchange = new OpenExchange(url, response, { requestId, credential: request.credential }, limit, explain)
    if (response.status >= 300) await exchange.fail()
    return exchange
  } catch (error) {
    limit.clear()
    throw explain(error)
  }
}

const checkedContexts = new WeakSet<Context>()

/** Beside the command's first request, so that it takes no time of its own; the command's own output is printed first. */
function checkNotices(context: Context, site: Site): void {
  if (checkedContexts.has(context) || !showsNotices(context)) return
  checkedContexts.add(context)
  const newNotices = readNewNotices(context, site)
  context.afterwards.push(async () => printNotices(context, site, await newNotices))
}

/** Those that this user has not seen; none where the service cannot be reached in time, which the command itself reports. */
export async function readNewNotices(context: Context, site: Site): Promise<readonly ShownNotice[]> {
  const signal = AbortSignal.timeout(noticeTimeoutMs)
  try {
    const request = { method: 'GET', path: '/v1/notices', signal, isNoticeCheck: true } as const
    return findNewNotices(context, site, (await callEndpoint<typeof listNotices>(context, site, request)).answer.data)
  } catch {
    return []
  }
}

/** Before a conversation begins, which may last for hours. */
export async function showNoticesNow(context: Context, site: Site): Promise<void> {
  if (checkedContexts.has(context) || !showsNotices(context)) return
  checkedContexts.add(context)
  printNotices(context, site, await readNewNotices(context, site))
}

function createUnexpectedAnswerFailure(site: Site, cause?: unknown): CommandFailure {
  return new CommandFailure(
    'unexpected_answer',
    {
      en: `${site.siteOrigin} sent an answer that this version of svc cannot read.`,
      zh: `${site.siteOrigin} 返回的内容是当前版本的 svc 无法识别的格式。`,
    },
    { hints: [{ en: 'update svc; or see what came with --json', zh: '请更新 svc，或使用 --json 查看原始内容' }], cause },
  )
}

class OpenExchange implements Exchange {
  readonly url: URL
  readonly response: Response
  readonly requestId: string
  readonly credential: Credential | undefined
  readonly #limit: Deadline
  readonly #explain: (error: unknown) => unknown

  constructor(
    url: URL,
    response: Response,
    { requestId, credential }: { readonly requestId: string; readonly credential: Credential | undefined },
    limit: Deadline,
    explain: (error: unknown) => unknown,
  ) {
    this.url = url
    this.response = response
    this.requestId = requestId
    this.credential = credential
    this.#limit = limit
    this.#explain = explain
  }

  async *chunks(): AsyncGenerator<Uint8Array> {
    try {
      for await (const piece of this.response.body ?? []) {
        this.#limit.restart()
        yield piece
      }
    } catch (error) {
      throw this.#explain(error)
    }
  }

  async text(): Promise<string> {
    const decoder = new TextDecoder()
    let text = ''
    try {
      for await (const piece of this.response.body ?? []) {
        text += decoder.decode(piece, { stream: true })
        if (text.length > maxAnswerBytes) throw createNotServiceFailure(this.url, this.response)
      }
    } catch (error) {
      throw this.#explain(error)
    }
    return text + decoder.decode()
  }

  /** Throws the failure that the answer describes. */
  async fail(): Promise<never> {
    const { status, headers } = this.response
    if (status < 400) throw createRedirectFailure(this.url, this.response)
    const body = tryParseJson(await this.text())
    throw toServiceFailure({
      status,
      headers,
      body,
      requestId: this.requestId,
      ...(this.credential && { credential: this.credential }),
    })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#limit.clear()
    if (this.response.body?.locked === false) await this.response.body.cancel().catch(() => {})
  }
}

/** A timeout that can be restarted. */
class Deadline {
  readonly ms: number
  readonly #controller = new AbortController()
  #timer: NodeJS.Timeout | undefined

  constructor(ms: number) {
    this.ms = ms
    this.restart()
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  restart(): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.#controller.abort(), this.ms)
  }

  clear(): void {
    clearTimeout(this.#timer)
  }
}

function toFailure(error: unknown, url: URL, requestId: string, limit: Deadline, stops: readonly AbortSignal[]): unknown {
  if (error instanceof CommandFailure) return error
  const requestIdText = { en: `request id: ${requestId}`, zh: `请求 ID：${requestId}` }
  const details = { requestId, address: url.origin }
  if (limit.signal.aborted) {
    const seconds = limit.ms / 1000
    return new CommandFailure(
      'timeout',
      { en: `No answer from ${url.origin} within ${seconds} s.`, zh: `${url.origin} 在 ${seconds} 秒内没有响应。` },
      {
        exit: 'timeout',
        hints: [requestIdText, { en: 'wait longer: --timeout <seconds>', zh: '延长等待：--timeout <秒>' }],
        details,
        cause: error,
      },
    )
  }
  if (stops.some((stop) => stop.aborted)) return error
  const why = describeCause(error)
  return new CommandFailure(
    'unreachable',
    { en: `Could not reach ${url.origin}: ${why.en}.`, zh: `无法连接 ${url.origin}：${why.zh}。` },
    {
      exit: 'tryAgain',
      hints: [
        requestIdText,
        { en: 'is the address right? svc config set site_url <url>', zh: '地址是否正确？svc config set site_url <url>' },
      ],
      details: { ...details, cause: why.en },
      cause: error,
    },
  )
}

/** The message of the innermost cause: "fetch failed" alone does not help. */
function describeCause(error: unknown): { readonly en: string; readonly zh: string } {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error
  const code = cause instanceof Error && 'code' in cause && typeof cause.code === 'string' ? cause.code : undefined
  const causeText = code === undefined ? undefined : causeTexts[code]
  const message = cause instanceof Error ? cause.message : String(cause)
  if (causeText !== undefined) return { en: `${causeText.en} (${code})`, zh: `${causeText.zh}（${code}）` }
  const text = code === undefined || message.includes(code) ? message : `${message} (${code})`
  return { en: text, zh: text }
}

const causeTexts: Readonly<Record<string, { readonly en: string; readonly zh: string }>> = {
  ECONNREFUSED: { en: 'nothing listens there', zh: '该地址无服务监听' },
  ENOTFOUND: { en: 'there is no such host', zh: '主机不存在' },
  EAI_AGAIN: { en: 'the name could not be looked up', zh: '无法解析主机名' },
  ECONNRESET: { en: 'the connection was cut', zh: '连接被中断' },
  UND_ERR_SOCKET: { en: 'the connection was cut', zh: '连接被中断' },
  EHOSTUNREACH: { en: 'no way to that host', zh: '无法到达该主机' },
  ENETUNREACH: { en: 'no network', zh: '网络不可用' },
}

function createRedirectFailure(url: URL, response: Response): CommandFailure {
  const target = response.headers.get('location') ?? ''
  const to = URL.parse(target, url.href)?.origin ?? 'elsewhere'
  return new CommandFailure(
    'redirected',
    {
      en: `${url.origin} sends this request on to ${to}; it was not followed.`,
      zh: `${url.origin} 将请求重定向到 ${to}，未跟随。`,
    },
    {
      hints: [
        { en: `if that is the right address: svc config set site_url ${to}`, zh: `若该地址正确：svc config set site_url ${to}` },
      ],
    },
  )
}

function createNotServiceFailure(url: URL, response: Response): CommandFailure {
  return new CommandFailure(
    'unexpected_answer',
    {
      en: `${url.origin} answered HTTP ${response.status} with something that is not the service's JSON.`,
      zh: `${url.origin} 返回 HTTP ${response.status}，但内容不是本服务的 JSON。`,
    },
    { hints: [{ en: 'is the address right? svc config list', zh: '地址是否正确？svc config list' }] },
  )
}

/** Creates the id sent as `x-svc-request-id`: `mbr_`, then 48 bits of time and 80 random bits as 26 characters that sort by time. */
function createRequestId({ now, random }: Pick<Context, 'now' | 'random'>): string {
  let value = BigInt(now())
  for (const byte of random(10)) value = (value << 8n) | BigInt(byte)
  let text = ''
  for (let index = 0; index < 26; index += 1, value >>= 5n) text = (alphabet[Number(value & 31n)] ?? '') + text
  return `mbr_${text}`
}

/** Crockford's base 32: no letter that resembles a digit. */
const alphabet = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
