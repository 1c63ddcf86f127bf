/**
 * A stand-in for Stripe: its API over HTTP as published, as far as the gateway uses it, with idempotency keys, errors and signed events. What
 * a visitor does on Stripe's pages are methods of `account`.
 */
import { createServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestScope } from '../../test-scope.ts'
import { StripeAccount } from './stripe-account.ts'
import { StripeRefusal } from './stripe-objects.ts'
import type { Parameters } from './stripe-objects.ts'

export interface StripeRequest {
  readonly method: string
  readonly path: string
  readonly parameters: Parameters
  /** The address and the body as they were sent. */
  readonly target: string
  readonly text: string
  readonly headers: IncomingMessage['headers']
}

/** Instead of the answer; `lost`: the request is carried out and its answer lost; `hang`: no answer. */
export type StripeFault = 'lost' | 'hang' | { readonly status: number; readonly body: string; readonly location?: string }

export interface StripeServer {
  readonly url: string
  readonly account: StripeAccount
  readonly requests: readonly StripeRequest[]
  /** Asked before each answer. */
  fault: (request: StripeRequest) => StripeFault | undefined
  close(): Promise<void>
}

export const stripeKey = 'sk_test_51standin'
export const stripeWebhookSecret = 'whsec_standinstandin'
export const stripeVersion = '2026-10-28.endive'

export async function startStripeServer(t: TestScope, now: () => number): Promise<StripeServer> {
  const account = new StripeAccount(now, stripeWebhookSecret)
  const requests: StripeRequest[] = []
  const answers = new Map<string, { readonly request: string; readonly status: number; readonly body: string }>()
  const server = createServer((request, response) => void handle(request, response))
  const stand: StripeServer = {
    url: '',
    account,
    requests,
    fault: () => undefined,
    close: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }

  async function handle(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = []
    for await (const chunk of incoming as AsyncIterable<Buffer>) chunks.push(chunk)
    const { pathname, search } = new URL(incoming.url ?? '/', 'http://stripe')
    const text = Buffer.concat(chunks).toString()
    const request: StripeRequest = {
      method: incoming.method ?? 'GET',
      path: pathname.replace('/v1/', ''),
      parameters: parseParameters(text === '' ? search : text),
      target: incoming.url ?? '/',
      text,
      headers: incoming.headers,
    }
    requests.push(request)
    const fault = stand.fault(request)
    if (fault === 'hang') return
    if (typeof fault === 'object') {
      if (fault.location !== undefined) response.setHeader('location', fault.location)
      return send(response, fault.status, fault.body)
    }
    const { status, body } = answer(request)
    if (fault === 'lost') return void response.destroy()
    send(response, status, body)
  }

  function answer(request: StripeRequest): { readonly status: number; readonly body: string } {
    const key = request.headers['idempotency-key']
    const identity = `${request.method} ${request.path} ${request.text}`
    const earlier = typeof key === 'string' && request.method === 'POST' ? answers.get(key) : undefined
    if (earlier !== undefined)
      return earlier.request === identity
        ? earlier
        : renderRefusal(
            new StripeRefusal(
              400,
              'idempotency_error',
              'Keys for idempotent requests can only be used with the same parameters.',
            ),
          )
    const fresh = callAccount(account, request)
    if (typeof key === 'string' && request.method === 'POST' && fresh.status < 500)
      answers.set(key, { request: identity, ...fresh })
    return fresh
  }

  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  Object.assign(stand, { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` })
  t.teardown(() => stand.close())
  return stand
}

function callAccount(account: StripeAccount, request: StripeRequest): { readonly status: number; readonly body: string } {
  try {
    if (request.headers.authorization !== `Bearer ${stripeKey}`)
      throw new StripeRefusal(401, 'invalid_request_error', 'Invalid API Key provided: sk_test_****')
    if (request.headers['stripe-version'] !== stripeVersion)
      throw new StripeRefusal(400, 'invalid_request_error', 'Another version of the API was expected.')
    return { status: 200, body: JSON.stringify(account.call(request.method, request.path.split('/'), request.parameters)) }
  } catch (error) {
    if (!(error instanceof StripeRefusal)) throw error
    return renderRefusal(error)
  }
}

function renderRefusal({ status, type, message, code, param }: StripeRefusal): {
  readonly status: number
  readonly body: string
} {
  return { status, body: JSON.stringify({ error: { type, message, code, param } }) }
}

function send(response: ServerResponse, status: number, body: string): void {
  // The library repeats what failed, unless it is told not to.
  response.writeHead(status, { 'content-type': 'application/json', 'request-id': 'req_standin', 'stripe-should-retry': 'false' })
  response.end(body)
}

/** `a[b][0]=1` as nested objects, as Stripe reads them. */
export function parseParameters(text: string): Parameters {
  const parameters: Parameters = {}
  for (const [name, value] of new URLSearchParams(text)) {
    const keys = name.split(/\[|\]\[?/).filter((key) => key !== '')
    const last = keys.pop() ?? ''
    const place = keys.reduce<Parameters>((at, key) => (at[key] ??= {}) as Parameters, parameters)
    place[last] = value
  }
  return parameters
}
