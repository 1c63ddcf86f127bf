/** An exchange without a server: a scripted client, a clock that is moved by hand, and an observer that only remembers. */
import { namesOf } from '../../src/config/brand.ts'
import type { Exchange, Inbound, Outcome, Slots } from '../../src/exchange/exchange.ts'
import type { Client } from '../../src/exchange/client.ts'
import { parseChatRequest } from '../../src/exchange/chat-request.ts'
import type { GatewayError } from '../../src/errors.ts'
import type { Services } from '../../src/gateway/services.ts'

/** 2026-11-21, noon UTC. */
export const noon = Date.UTC(2026, 10, 21, 12)

export function anExchange(
  changes: Partial<Exchange> & {
    readonly headers?: Record<string, string>
    readonly sent?: Inbound['headers']
    readonly body?: unknown
  } = {},
): Exchange & Partial<Slots> {
  const { sent = {}, body = { model: 'svc-2.1', messages: [{ role: 'user', content: 'Hello!' }] }, ...rest } = changes
  return {
    id: 'mbr_01TEST',
    echo: 'mbr_01TEST',
    kind: 'turn',
    names: namesOf('svc'),
    startedAt: noon,
    startedTicks: 0,
    inbound: {
      method: 'POST',
      path: '/v1/chat/completions',
      headers: sent,
      address: '192.0.2.1',
      cookieToken: null,
      chat: async () => parseChatRequest(Buffer.from(JSON.stringify(body))),
    },
    headers: {},
    debug: {},
    attempted: { target: null, status: null },
    ...rest,
  }
}

/** Remembers everything that was said to it, in order. */
export class ScriptedClient implements Client {
  left = false
  opened = false
  readonly said: string[] = []
  status: number | null = null
  headers: Readonly<Record<string, string>> = {}
  body = ''
  /** Called at each word, so that a test can look at the world in that moment. */
  onWord: (() => void) | null = null
  #onLeave: (() => void)[] = []

  onLeave(listener: () => void): void {
    this.#onLeave.push(listener)
  }

  leave(): void {
    this.left = true
    for (const listener of this.#onLeave) listener()
  }

  open(status: number, headers: Readonly<Record<string, string>>): void {
    this.opened = true
    this.#say('open')
    this.status = status
    this.headers = headers
  }

  write(frames: string): boolean {
    this.#say('write')
    this.body += frames
    return true
  }

  onDrain(): void {}

  end(frames = ''): void {
    this.#say('end')
    this.body += frames
  }

  cut(): void {
    this.#say('cut')
  }

  prove(): void {}

  reply(status: number, headers: Readonly<Record<string, string>>, body: string | Uint8Array): void {
    this.#say('reply')
    this.status = status
    this.headers = headers
    this.body = typeof body === 'string' ? body : Buffer.from(body).toString()
  }

  get json(): Record<string, unknown> {
    return JSON.parse(this.body) as Record<string, unknown>
  }

  #say(word: string): void {
    this.said.push(word)
    this.onWord?.()
  }
}

export interface Remembered {
  readonly ended: Outcome[]
  readonly hooksFailed: { readonly plugin: string; readonly hook: string; readonly error: unknown }[]
  readonly requestsFailed: GatewayError[]
}

/** Services that have a clock and an observer, and whatever else a test brings. */
export function fewServices(more: Partial<Record<keyof Services, unknown>> = {}): {
  services: Services
  remembered: Remembered
  clock: { time: number }
} {
  const remembered: Remembered = { ended: [], hooksFailed: [], requestsFailed: [] }
  const clock = { time: noon }
  const services = {
    names: namesOf('svc'),
    clock: { now: () => clock.time, ticks: () => clock.time - noon },
    observe: {
      exchangeEnded: (_: Exchange, outcome: Outcome) => remembered.ended.push(outcome),
      hookFailed: (_: Exchange, plugin: string, hook: string, error: unknown) =>
        remembered.hooksFailed.push({ plugin, hook, error }),
      requestFailed: (_: Exchange, failure: GatewayError) => remembered.requestsFailed.push(failure),
    },
    ...more,
  } as unknown as Services
  return { services, remembered, clock }
}
