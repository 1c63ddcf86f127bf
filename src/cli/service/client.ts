/** Requests to the service, and what of them can go wrong on the way. No redirect is followed: it would carry the token along. */
import type { AnswerOf, Endpoint, SentTo } from '../../api/endpoint.ts'
import type { Context } from '../context.ts'
import { CommandFailure } from '../failure.ts'
import { version } from '../version.ts'
import { newRequestId } from './request-id.ts'
import { serviceFailure } from './service-failure.ts'
import type { Credential, Site } from './site.ts'

export interface ServiceRequest {
  readonly method: 'GET' | 'POST'
  /** `/v1/…` goes to the API's address, everything else to the site. */
  readonly path: string
  readonly body?: unknown
  readonly credential?: Credential
  /** Stops this request alone; Ctrl-C on the whole command is added by itself. */
  readonly signal?: AbortSignal
  /** Until the whole answer is there, or for a stream between two of its pieces. `--timeout` goes first. */
  readonly timeoutMs?: number
}

export interface Answer {
  readonly body: unknown
  readonly requestId: string
}

/** A request to an endpoint of `src/api`: where it goes and what is sent are what the endpoint says. */
export type RequestTo<E extends Endpoint> = Omit<ServiceRequest, 'method' | 'path' | 'body'> & {
  readonly method: Uppercase<E['method']>
  readonly path: E['path']
} & (E extends { readonly body: object } ? { readonly body: SentTo<E> } : { readonly body?: Readonly<Record<string, never>> })

/** An answer as a service of another version may give it: whatever it has is of the type that the endpoint says, and anything may be missing. */
export type Told<T> = T extends readonly (infer Item)[]
  ? readonly Told<Item>[]
  : T extends object
    ? { readonly [K in keyof T]?: Told<T[K]> | undefined }
    : T

const defaultTimeoutMs = 30_000
/** No document of the service comes near; what is longer is not ours. */
const longestAnswer = 32 * 1024 * 1024

/**
 * One question, one JSON answer. Throws the service's failure with its Ref line, `unreachable` with the cause and the id that was
 * sent, or `timeout`.
 */
export async function call(context: Context, site: Site, request: ServiceRequest): Promise<Answer> {
  await using exchange = await open(context, site, request, 'application/json')
  const body = parse(await exchange.text())
  if (body === undefined) throw notTheService(exchange.url, exchange.response)
  return { body, requestId: exchange.requestId }
}

/** The same to an endpoint: `ask<typeof showUsage>(context, site, { method: 'GET', path: '/api/membership/usage', … })`. */
export async function ask<E extends Endpoint>(
  context: Context,
  site: Site,
  request: RequestTo<E> & ServiceRequest,
): Promise<{ readonly answer: Told<AnswerOf<E>>; readonly requestId: string }> {
  const { body, requestId } = await call(context, site, request)
  // Its fields are looked at where they are shown (`show`); here it need only be something that can have fields.
  if (typeof body !== 'object' || body === null || Array.isArray(body)) throw strangeAnswer(site)
  return { answer: body as Told<AnswerOf<E>>, requestId }
}

/** Prints an answer; one whose fields are not what this version knows is said to be so. `--json` prints it as it came. */
export function show<Told>(context: Context, site: Site, answer: Told, toText: (answer: Told) => string): void {
  context.result(answer, () => {
    try {
      return toText(answer)
    } catch (error) {
      throw error instanceof TypeError ? strangeAnswer(site, error) : error
    }
  })
}

export interface Exchange extends AsyncDisposable {
  readonly url: URL
  readonly response: Response
  readonly requestId: string
  /** The body in pieces; the time limit starts again with each. */
  pieces(): AsyncGenerator<Uint8Array>
  text(): Promise<string>
}

/** Sends the request and returns once a successful answer has begun; dispose it to be sure that the connection is given up. */
export async function open(context: Context, site: Site, request: ServiceRequest, accept: string): Promise<Exchange> {
  const url = new URL((request.path.startsWith('/v1/') ? site.apiUrl : site.siteUrl) + request.path)
  const requestId = newRequestId(context)
  const limit = new Deadline(context.timeoutMs ?? request.timeoutMs ?? defaultTimeoutMs)
  const stops = [context.signal, limit.signal, ...(request.signal === undefined ? [] : [request.signal])]
  const explain = (error: unknown) => toFailure(error, url, requestId, limit, stops)
  context.detail(`${request.method} ${url.href} · x-${site.brand}-request-id: ${requestId}`)
  try {
    const response = await fetch(url, {
      method: request.method,
      headers: {
        accept,
        [`x-${site.brand}-request-id`]: requestId,
        'user-agent': `svc/${version()}`,
        ...(request.body === undefined ? {} : { 'content-type': 'application/json' }),
        ...(request.credential === undefined ? {} : { authorization: `Bearer ${request.credential.token}` }),
      },
      // A redirect would carry the token to an address that nobody chose.
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

function strangeAnswer(site: Site, cause?: unknown): CommandFailure {
  return new CommandFailure(
    'unexpected_answer',
    {
      en: `${site.siteOrigin} answered in a form that this version of svc does not know.`,
      zh: `${site.siteOrigin} 返回的内容是当前版本的 svc 无法识别的格式。`,
    },
    { hints: [{ en: 'update svc; or see what came with --json', zh: '请更新 svc,或使用 --json 查看原始内容' }], cause },
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

  async *pieces(): AsyncGenerator<Uint8Array> {
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
        if (text.length > longestAnswer) throw notTheService(this.url, this.response)
      }
    } catch (error) {
      throw this.#explain(error)
    }
    return text + decoder.decode()
  }

  /** The answer is a failure: throws what it says. */
  async fail(): Promise<never> {
    const { status, headers } = this.response
    if (status < 400) throw redirected(this.url, this.response)
    const body = parse(await this.text())
    throw serviceFailure({
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

/** A time limit that can start again. */
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
  const sent = { en: `request id: ${requestId}`, zh: `请求 ID:${requestId}` }
  const details = { requestId, address: url.origin }
  if (limit.signal.aborted) {
    const seconds = limit.ms / 1000
    return new CommandFailure(
      'timeout',
      { en: `No answer from ${url.origin} within ${seconds} s.`, zh: `${url.origin} 在 ${seconds} 秒内没有响应。` },
      {
        exit: 'timeout',
        hints: [sent, { en: 'wait longer: --timeout <seconds>', zh: '延长等待:--timeout <秒>' }],
        details,
        cause: error,
      },
    )
  }
  if (stops.some((stop) => stop.aborted)) return error
  const why = causeOf(error)
  return new CommandFailure(
    'unreachable',
    { en: `Could not reach ${url.origin}: ${why.en}.`, zh: `无法连接 ${url.origin}:${why.zh}。` },
    {
      exit: 'tryAgain',
      hints: [
        sent,
        { en: 'is the address right? svc config set site_url <url>', zh: '地址是否正确?svc config set site_url <url>' },
      ],
      details: { ...details, cause: why.en },
      cause: error,
    },
  )
}

/** The innermost words: "fetch failed" alone helps nobody. */
function causeOf(error: unknown): { readonly en: string; readonly zh: string } {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error
  const code = cause instanceof Error && 'code' in cause && typeof cause.code === 'string' ? cause.code : undefined
  const known = code === undefined ? undefined : causes[code]
  const message = cause instanceof Error ? cause.message : String(cause)
  if (known !== undefined) return { en: `${known.en} (${code})`, zh: `${known.zh}(${code})` }
  const text = code === undefined || message.includes(code) ? message : `${message} (${code})`
  return { en: text, zh: text }
}

const causes: Readonly<Record<string, { readonly en: string; readonly zh: string }>> = {
  ECONNREFUSED: { en: 'nothing listens there', zh: '该地址无服务监听' },
  ENOTFOUND: { en: 'there is no such host', zh: '主机不存在' },
  EAI_AGAIN: { en: 'the name could not be looked up', zh: '无法解析主机名' },
  ECONNRESET: { en: 'the connection was cut', zh: '连接被中断' },
  UND_ERR_SOCKET: { en: 'the connection was cut', zh: '连接被中断' },
  EHOSTUNREACH: { en: 'no way to that host', zh: '无法到达该主机' },
  ENETUNREACH: { en: 'no network', zh: '网络不可用' },
}

function redirected(url: URL, response: Response): CommandFailure {
  const target = response.headers.get('location') ?? ''
  const to = URL.parse(target, url)?.origin ?? 'elsewhere'
  return new CommandFailure(
    'redirected',
    {
      en: `${url.origin} sends this request on to ${to}; it was not followed.`,
      zh: `${url.origin} 将请求重定向到 ${to},未跟随。`,
    },
    {
      hints: [
        { en: `if that is the right address: svc config set site_url ${to}`, zh: `若该地址正确:svc config set site_url ${to}` },
      ],
    },
  )
}

function notTheService(url: URL, response: Response): CommandFailure {
  return new CommandFailure(
    'unexpected_answer',
    {
      en: `${url.origin} answered HTTP ${response.status} with something that is not the service's JSON.`,
      zh: `${url.origin} 返回 HTTP ${response.status},但内容不是本服务的 JSON。`,
    },
    { hints: [{ en: 'is the address right? svc config list', zh: '地址是否正确?svc config list' }] },
  )
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
