/**
 * Every real answer of a test's gateway, held against what its endpoint in `src/api` says. It listens where Node itself tells of requests, so
 * the gateway under test is the one that is shipped, and nothing in it knows of tests.
 */
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { z } from 'zod'
import { chunk } from '../../src/api/chat.ts'
import { addressesOf, failuresOf } from '../../src/api/endpoint.ts'
import type { Endpoint } from '../../src/api/endpoint.ts'
import { areas } from '../../src/api/endpoints.ts'
import { envelope } from '../../src/api/envelope.ts'

const known = Object.values(areas)
  .flat()
  .flatMap(({ endpoint }) => addressesOf(endpoint).map((address) => ({ endpoint, pattern: patternOf(address) })))

export interface Watch {
  /** What did not fit, as sentences. */
  readonly faults: readonly string[]
  stop(): void
}

/** Watches the server that listens on `port` of this process. */
export function watchAnswers(port: number): Watch {
  const faults: string[] = []
  const onStart = (message: unknown): void => {
    const { request, response } = message as { readonly request: IncomingMessage; readonly response: ServerResponse }
    if (request.socket.localPort !== port) return
    const body = recorded(response)
    response.on('finish', () => {
      const { method = '', url = '' } = request
      const fault = faultIn({
        method,
        path: pathOf(url),
        status: response.statusCode,
        type: typeOf(response),
        body: body(),
      })
      if (fault !== null) faults.push(`${method} ${url} answered ${response.statusCode}: ${fault}`)
    })
  }
  subscribe('http.server.request.start', onStart)
  return { faults, stop: () => void unsubscribe('http.server.request.start', onStart) }
}

/** As it was asked for: dots and slashes in it are part of what is refused. A target may be a whole address. */
function pathOf(target: string): string {
  return target.replace(/^https?:\/\/[^/]*/, '').split('?', 1)[0] ?? ''
}

export interface SeenAnswer {
  readonly method: string
  readonly path: string
  readonly status: number
  readonly type: string
  readonly body: string
}

/** What does not fit, or null. */
export function faultIn({ method, path, status, type, body }: SeenAnswer): string | null {
  const endpoint = known.find(({ endpoint, pattern }) => endpoint.method === method.toLowerCase() && pattern.test(path))?.endpoint
  if (type === 'text/event-stream' && path === '/v1/chat/completions') return streamFault(body)
  if (type !== 'application/json' || body === '') return null
  const answer: unknown = JSON.parse(body)
  const other = endpoint?.others?.[status]
  if (other !== undefined && misfit(other, answer) === null) return null
  if (status >= 400) return misfit(envelope, answer) ?? codeFault(endpoint, answer)
  if (endpoint?.answer === undefined) return 'no endpoint says that there is such an answer'
  return status === (endpoint.status ?? 200) ? misfit(endpoint.answer, answer) : 'the endpoint names another status'
}

function codeFault(endpoint: Endpoint | undefined, answer: unknown): string | null {
  const { code } = envelope.parse(answer)
  return endpoint === undefined || failuresOf(endpoint).includes(code) ? null : `the endpoint does not name the failure ${code}`
}

function streamFault(body: string): string | null {
  for (const [, data = ''] of body.matchAll(/^data: (.*)$/gm)) {
    if (data === '[DONE]') continue
    const frame: unknown = JSON.parse(data)
    const isFailure = typeof frame === 'object' && frame !== null && 'error' in frame
    const fault = misfit(isFailure ? envelope : chunk, frame)
    if (fault !== null) return fault
  }
  return null
}

function misfit(schema: z.ZodType, answer: unknown): string | null {
  const { error } = schema.safeParse(answer)
  const issue = error?.issues[0]
  return issue === undefined ? null : `${issue.path.join('.')}: ${issue.message} in ${JSON.stringify(answer).slice(0, 400)}`
}

function typeOf(response: ServerResponse): string {
  return (
    String(response.getHeader('content-type') ?? /^content-type: (.*)$/im.exec(headOf(response))?.[1] ?? '')
      .split(';', 1)[0]
      ?.trim() ?? ''
  )
}

/** The head as it was written: headers that are given to `writeHead` alone stand nowhere else. */
function headOf(response: ServerResponse): string {
  return (response as ServerResponse & { readonly _header?: string | null })._header ?? ''
}

/** Keeps what is written, and passes it on. */
function recorded(response: ServerResponse): () => string {
  const chunks: Buffer[] = []
  const keep = (chunk: unknown, encoding: unknown): void => {
    if (typeof chunk === 'string')
      chunks.push(Buffer.from(chunk, typeof encoding === 'string' ? (encoding as BufferEncoding) : 'utf8'))
    else if (chunk instanceof Uint8Array) chunks.push(Buffer.from(chunk))
  }
  const write = response.write.bind(response)
  const end = response.end.bind(response)
  response.write = ((...given: Parameters<typeof write>) => (keep(given[0], given[1]), write(...given))) as typeof response.write
  response.end = ((...given: Parameters<typeof end>) => (keep(given[0], given[1]), end(...given))) as typeof response.end
  return () => Buffer.concat(chunks).toString('utf8')
}

function patternOf(address: string): RegExp {
  return new RegExp(`^${address.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/]+')}$`)
}
