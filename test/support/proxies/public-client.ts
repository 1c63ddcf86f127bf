/** A client that reaches a proxy under its public name: the name is in the URL and in TLS, the connection goes to loopback. */
import { Agent, buildConnector, fetch } from 'undici'
import type { RequestInit, Response } from 'undici'
import type { TestScope } from '../test-scope.ts'
import { publicHost } from './shipped-file.ts'

/** A machine that stands still for seconds shall not fail a test: undici gives up a connection after 10 s. */
const patienceMs = 60_000

export interface PublicClientOptions {
  readonly port: number
  /** The certificate to trust; without it the client uses plain HTTP. */
  readonly ca?: string | undefined
  /** The client's own address; any of 127.0.0.0/8. */
  readonly localAddress?: string
  readonly http2?: boolean
}

export class PublicClient {
  readonly origin: string
  readonly dispatcher: Agent
  /** Connects to the port on loopback, whatever the URL names. */
  readonly connect: buildConnector.connector

  constructor(t: TestScope, { port, ca, localAddress = '127.0.0.1', http2 = false }: PublicClientOptions) {
    this.origin = `${ca === undefined ? 'http' : 'https'}://${publicHost}`
    const connect = buildConnector({ ...(ca === undefined ? {} : { ca }), allowH2: http2, timeout: patienceMs })
    this.connect = (options, callback) =>
      connect({ ...options, hostname: '127.0.0.1', port: String(port), servername: publicHost, localAddress }, callback)
    this.dispatcher = new Agent({
      allowH2: http2,
      pipelining: 1,
      headersTimeout: patienceMs,
      bodyTimeout: patienceMs,
      connect: this.connect,
    })
    t.teardown(() => this.dispatcher.destroy())
  }

  fetch(path: string, init: RequestInit = {}): Promise<Response> {
    return fetch(`${this.origin}${path}`, { dispatcher: this.dispatcher, ...init })
  }

  /** `POST /v1/chat/completions`. */
  chat(token: string, body: object = {}, { headers = {}, signal }: ChatOptions = {}): Promise<Response> {
    return this.fetch('/v1/chat/completions', {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ model: 'svc-2.1', messages: [{ role: 'user', content: 'Hello!' }], ...body }),
      ...(signal === undefined ? {} : { signal }),
    })
  }
}

interface ChatOptions {
  readonly headers?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal
}
