/**
 * Compares every real answer of a test's gateway with its endpoint in `src/api`. It subscribes to Node's own diagnostics of requests, so
 * the tested gateway is the shipped one and contains no test code.
 */
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import type { z } from 'zod'
import { chunk } from '../../../src/api/models/chat.ts'
import { getPaths, getErrorCodes } from '../../../src/api/endpoint.ts'
import type { Endpoint } from '../../../src/api/endpoint.ts'
import { endpointsByArea } from '../../../src/api/endpoints.ts'
import { envelope, geminiFailure, jsonRpcFailure, messagesFailure, problem, responsesFailure } from '../../../src/api/envelope.ts'

const knownEndpoints = Object.values(endpointsByArea)
  .flat()
  .flatMap(({ endpoint }) => getPaths(endpoint).map((address) => ({ endpoint, pattern: toPathPattern(address) })))

export interface ResponseValidator {
  /** The differences found, as sentences. */
  readonly violations: readonly string[]
  stop(): void
}

/** Watches the server that listens on `port` of this process. */
export function validateResponses(port: number): ResponseValidator {
  const violations: string[] = []
  const onStart = (message: unknown): void => {
    const { request, response } = message as { readonly request: IncomingMessage; readonly response: ServerResponse }
    if (request.socket.localPort !== port) return
    const readBody = recordBody(response)
    response.on('finish', () => {
      const { method = '', url = '' } = request
      const violation = findViolation({
        method,
        path: toPath(url),
        status: response.statusCode,
        type: getContentType(response),
        body: readBody(),
      })
      if (violation !== null) violations.push(`${method} ${url} answered ${response.statusCode}: ${violation}`)
    })
  }
  subscribe('http.server.request.start', onStart)
  return { violations, stop: () => void unsubscribe('http.server.request.start', onStart) }
}

/** The path as requested, unnormalised: dots and slashes are part of what is refused. A target may be a whole URL. */
function toPath(target: string): string {
  return target.replace(/^https?:\/\/[^/]*/, '').split('?', 1)[0] ?? ''
}

export interface RecordedResponse {
  readonly method: string
  readonly path: string
  readonly status: number
  readonly type: string
  readonly body: string
}

/** The difference, or null. */
export function findViolation({ method, path, status, type, body }: RecordedResponse): string | null {
  const endpoint = knownEndpoints.find(
    ({ endpoint, pattern }) => endpoint.method === method.toLowerCase() && pattern.test(path),
  )?.endpoint
  if (type === 'text/event-stream' && path === '/v1/chat/completions') return findStreamViolation(body)
  if (endpoint !== undefined && isUndescribedMedia(endpoint, { status, type, body }))
    return `the endpoint does not describe ${type || 'an empty body'}`
  if (!/^application\/(?:problem\+)?json$/.test(type) || body === '') return null
  const answer: unknown = JSON.parse(body)
  const other = endpoint?.otherResponses?.[status]
  if (other !== undefined && describeSchemaIssue(other, answer) === null) return null
  if (status >= 400) return findFailureViolation(endpoint, path, answer)
  if (endpoint?.response === undefined) return 'no endpoint says that there is such an answer'
  return status === (endpoint.status ?? 200)
    ? describeSchemaIssue(endpoint.response, answer)
    : 'the endpoint names another status'
}

/** Whether a failure is a page, or a success has no body, although the endpoint does not describe it. */
function isUndescribedMedia(
  { otherMediaTypes = {} }: Endpoint,
  { status, type, body }: Pick<RecordedResponse, 'status' | 'type' | 'body'>,
): boolean {
  if (status >= 400 && type === 'text/html') return otherMediaTypes[status] !== type
  return status === 202 && body === '' && otherMediaTypes[status] !== null
}

const failureSchemas = {
  envelope,
  json_rpc: jsonRpcFailure,
  problem,
  responses: responsesFailure,
  messages: messagesFailure,
  gemini: geminiFailure,
} as const

/** The format of failures below an endpoint's path, such as that of an unknown id. */
function findFormat(path: string): 'responses' | 'messages' | 'gemini' | 'problem' | 'envelope' {
  if (path.startsWith('/api/operator/v1/')) return 'problem'
  if (/^\/v1beta\/|^\/v1\/models\/[^/]+:\w+$/.test(path)) return 'gemini'
  if (/^\/v1\/responses(\/|$)/.test(path)) return 'responses'
  return /^\/v1\/messages(\/|$)/.test(path) ? 'messages' : 'envelope'
}

function findFailureViolation(endpoint: Endpoint | undefined, path: string, answer: unknown): string | null {
  const format = endpoint?.failureFormat ?? findFormat(path)
  const schema = failureSchemas[format]
  const issue = describeSchemaIssue(schema, answer)
  if (issue !== null) return issue
  const { code } = format === 'json_rpc' ? jsonRpcFailure.parse(answer).error.data : failureSchemas[format].parse(answer)
  return endpoint === undefined || getErrorCodes(endpoint).includes(code)
    ? null
    : `the endpoint does not name the failure ${code}`
}

function findStreamViolation(body: string): string | null {
  for (const [, data = ''] of body.matchAll(/^data: (.*)$/gm)) {
    if (data === '[DONE]') continue
    const frame: unknown = JSON.parse(data)
    const isFailure = typeof frame === 'object' && frame !== null && 'error' in frame
    const violation = describeSchemaIssue(isFailure ? envelope : chunk, frame)
    if (violation !== null) return violation
  }
  return null
}

function describeSchemaIssue(schema: z.ZodType, answer: unknown): string | null {
  const { error } = schema.safeParse(answer)
  const issue = error?.issues[0]
  return issue === undefined ? null : `${issue.path.join('.')}: ${issue.message} in ${JSON.stringify(answer).slice(0, 400)}`
}

function getContentType(response: ServerResponse): string {
  return (
    String(response.getHeader('content-type') ?? /^content-type: (.*)$/im.exec(getRawHead(response))?.[1] ?? '')
      .split(';', 1)[0]
      ?.trim() ?? ''
  )
}

/** The head as written: headers that are passed to `writeHead` alone exist nowhere else. */
function getRawHead(response: ServerResponse): string {
  return (response as ServerResponse & { readonly _header?: string | null })._header ?? ''
}

/** Records written data and passes it on. */
function recordBody(response: ServerResponse): () => string {
  const chunks: Buffer[] = []
  const append = (chunk: unknown, encoding: unknown): void => {
    if (typeof chunk === 'string')
      chunks.push(Buffer.from(chunk, typeof encoding === 'string' ? (encoding as BufferEncoding) : 'utf8'))
    else if (chunk instanceof Uint8Array) chunks.push(Buffer.from(chunk))
  }
  const write = response.write.bind(response)
  const end = response.end.bind(response)
  response.write = ((...args: Parameters<typeof write>) => (append(args[0], args[1]), write(...args))) as typeof response.write
  response.end = ((...args: Parameters<typeof end>) => (append(args[0], args[1]), end(...args))) as typeof response.end
  return () => decode(Buffer.concat(chunks), response.getHeader('content-encoding')).toString('utf8')
}

function decode(body: Buffer, encoding: unknown): Buffer {
  if (encoding === 'br') return brotliDecompressSync(body)
  return encoding === 'gzip' ? gunzipSync(body) : body
}

function toPathPattern(address: string): RegExp {
  return new RegExp(`^${address.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/]+')}$`)
}
