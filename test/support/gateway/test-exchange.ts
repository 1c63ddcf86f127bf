/** An exchange without a server: a scripted client, a manual clock, and a recording observer. */
import { deriveNames } from '../../../src/exchange/brand-names.ts'
import type { Exchange, Inbound, Outcome, Slots } from '../../../src/exchange/exchange.ts'
import type { ResponseSink } from '../../../src/exchange/response-sink.ts'
import { parseChatRequest } from '../../../src/exchange/request/chat-request.ts'
import type { GatewayError } from '../../../src/errors.ts'
import type { Services } from '../../../src/services/services.ts'

/** 2026-11-21, noon UTC. */
export const noon = Date.UTC(2026, 10, 21, 12)

export function createTestExchange(
  changes: Partial<Exchange> & {
    readonly headers?: Record<string, string>
    readonly inboundHeaders?: Inbound['headers']
    readonly body?: unknown
  } = {},
): Exchange & Partial<Slots> {
  const { inboundHeaders = {}, body = { model: 'svc-2.1', messages: [{ role: 'user', content: 'Hello!' }] }, ...rest } = changes
  return {
    id: 'mbr_01TEST',
    responseRequestId: 'mbr_01TEST',
    kind: 'turn',
    names: deriveNames('svc'),
    siteUrl: 'https://site.example',
    startedAt: noon,
    startedMonotonicMs: 0,
    inbound: {
      method: 'POST',
      path: '/v1/chat/completions',
      headers: inboundHeaders,
      address: '192.0.2.1',
      cookieToken: null,
      chat: async () => parseChatRequest(Buffer.from(JSON.stringify(body))),
    },
    headers: {},
    debug: {},
    lastAttempt: { target: null, status: null },
    ...rest,
  }
}

/** Records every event in order. */
export class RecordingClient implements ResponseSink {
  disconnected = false
  headersSent = false
  readonly calls: string[] = []
  status: number | null = null
  headers: Readonly<Record<string, string>> = {}
  body = ''
  /** Called at each event, so that a test can check the state at that moment. */
  onCall: (() => void) | null = null
  #disconnectListeners: (() => void)[] = []

  onDisconnect(listener: () => void): void {
    this.#disconnectListeners.push(listener)
  }

  disconnect(): void {
    this.disconnected = true
    for (const listener of this.#disconnectListeners) listener()
  }

  writeHead(status: number, headers: Readonly<Record<string, string>>): void {
    this.headersSent = true
    this.#record('open')
    this.status = status
    this.headers = headers
  }

  write(frames: string): boolean {
    this.#record('write')
    this.body += frames
    return true
  }

  onDrain(_listener: () => void): void {}

  expectEnd(): void {
    this.#record('expectEnd')
  }

  end(frames = ''): void {
    this.#record('end')
    this.body += frames
  }

  destroy(): void {
    this.#record('cut')
  }

  validateHeaders(): void {}

  reply(status: number, headers: Readonly<Record<string, string>>, body: string | Uint8Array): void {
    this.#record('reply')
    this.status = status
    this.headers = headers
    this.body = typeof body === 'string' ? body : Buffer.from(body).toString()
  }

  get json(): Record<string, unknown> {
    return JSON.parse(this.body) as Record<string, unknown>
  }

  #record(call: string): void {
    this.calls.push(call)
    this.onCall?.()
  }
}

export interface RecordedTelemetry {
  readonly outcomes: Outcome[]
  readonly hookFailures: { readonly plugin: string; readonly hook: string; readonly error: unknown }[]
  readonly requestFailures: GatewayError[]
}

/** Services with a clock and an observer, plus the ones that a test passes. */
export function createTestServices(overrides: Partial<Record<keyof Services, unknown>> = {}): {
  services: Services
  recorded: RecordedTelemetry
  clock: { time: number }
} {
  const recorded: RecordedTelemetry = { outcomes: [], hookFailures: [], requestFailures: [] }
  const clock = { time: noon }
  const services = {
    names: deriveNames('svc'),
    clock: { now: () => clock.time, monotonicMs: () => clock.time - noon },
    telemetry: {
      recordExchange: (_: Exchange, outcome: Outcome) => recorded.outcomes.push(outcome),
      recordPluginError: (_: Exchange, plugin: string, hook: string, error: unknown) =>
        recorded.hookFailures.push({ plugin, hook, error }),
      recordInternalError: (_: Exchange, failure: GatewayError) => recorded.requestFailures.push(failure),
    },
    ...overrides,
  } as unknown as Services
  return { services, recorded, clock }
}
