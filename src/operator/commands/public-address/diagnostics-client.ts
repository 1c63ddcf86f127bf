/** Sends requests to the diagnostic endpoints through a public address. */
import { Agent, request } from 'undici'
import type { buildConnector } from 'undici'
import { createDiagnosticToken } from '../../../access/diagnostic-token.ts'
import { diagnoseBody, diagnoseRequest, diagnoseStream } from '../../../api/diagnostics.ts'
import { envelope } from '../../../api/envelope.ts'
import type { ResponseOf } from '../../../api/endpoint.ts'
import { systemClock } from '../../../system/clock.ts'
import { tryParseJson } from '../../../system/parse-json.ts'

export type Report = ResponseOf<typeof diagnoseRequest>
export type HttpHeaders = Readonly<Record<string, string | readonly string[] | undefined>>

export interface Answer {
  readonly status: number
  readonly headers: HttpHeaders
  /** Null where the response is not the gateway's report. */
  readonly report: Report | null
  /** The error code where the response is a gateway's error; null otherwise, as for a page of a proxy. */
  readonly errorCode: string | null
}

interface StreamTiming {
  readonly status: number
  readonly headers: HttpHeaders
  /** When each event arrived, in milliseconds since the request. */
  readonly eventsMs: readonly number[]
}

/** Longest time without a byte. */
const timeoutMs = 20_000

export class DiagnosticsClient {
  /** This machine's end of the last connection. */
  local: { readonly address: string; readonly port: number } | null = null
  readonly #origin: string
  readonly #secret: Buffer
  readonly #dispatcher: Agent

  constructor(origin: string, secret: Buffer, connect: buildConnector.connector) {
    this.#origin = origin
    this.#secret = secret
    this.#dispatcher = new Agent({
      headersTimeout: timeoutMs,
      bodyTimeout: timeoutMs,
      connect: (options, callback) =>
        connect(options, (...result) => {
          const { localAddress, localPort } = result[1] ?? {}
          if (localAddress !== undefined && localPort !== undefined) this.local = { address: localAddress, port: localPort }
          callback(...result)
        }),
    })
  }

  async fetchReport(headers: Readonly<Record<string, string>> = {}): Promise<Answer> {
    return this.#send(diagnoseRequest.path, { method: 'GET', headers })
  }

  /** Sends a JSON body of exactly `bytes`. */
  async postBody(bytes: number): Promise<Answer> {
    const frame = JSON.stringify({ padding: '' })
    const body = JSON.stringify({ padding: 'x'.repeat(bytes - frame.length) })
    return this.#send(diagnoseBody.path, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
  }

  async measureStream(): Promise<StreamTiming> {
    const startedMs = systemClock.monotonicMs()
    const { statusCode, headers, body } = await request(`${this.#origin}${diagnoseStream.path}`, {
      dispatcher: this.#dispatcher,
      headers: this.#authorize({}),
    })
    const eventsMs: number[] = []
    body.setEncoding('utf8')
    for await (const text of body as AsyncIterable<string>)
      for (const _ of text.matchAll(/^data: /gm)) eventsMs.push(Math.round(systemClock.monotonicMs() - startedMs))
    return { status: statusCode, headers, eventsMs }
  }

  close(): Promise<void> {
    return this.#dispatcher.destroy()
  }

  async #send(path: string, options: RequestParts): Promise<Answer> {
    const { statusCode, headers, body } = await request(`${this.#origin}${path}`, {
      ...options,
      headers: this.#authorize(options.headers),
      dispatcher: this.#dispatcher,
    })
    const value = tryParseJson(await body.text())
    return {
      status: statusCode,
      headers,
      report: diagnoseRequest.response.safeParse(value).data ?? null,
      errorCode: envelope.safeParse(value).data?.code ?? null,
    }
  }

  #authorize(headers: Readonly<Record<string, string>>): Record<string, string> {
    return { ...headers, authorization: `Bearer ${createDiagnosticToken(this.#secret, systemClock.now())}` }
  }
}

interface RequestParts {
  readonly method: 'GET' | 'POST'
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
}
