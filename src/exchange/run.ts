/**
 * The runner: the only place where an exchange ends.
 *
 * 1. Hooks run in list order; `onRequest` stops at the first throw or returned reply, and then comes the call.
 * 2. A later hook runs only for plugins whose needs and gives are filled.
 * 3. Failure hooks hand the failure along the list; settle hooks are isolated from each other.
 * 4. Outcome decided → settled, durable → last word. A client that has seen the end can trust the ledger.
 * 5. An empty list works; what nobody classified is `internal_error`.
 * 6. A hook that returns no promise is not awaited.
 */
import { GatewayError } from '../errors.ts'
import type { Client } from './client.ts'
import { envelopeFrames, envelopeReply, traceHeaders } from './envelope.ts'
import { nothingUsed } from './exchange.ts'
import type { Answer, Exchange, Outcome, Reply, Slot, Slots } from './exchange.ts'
import { ClientLeft, toFailure } from './outcome.ts'
import type { AnyPlugin, Filled, ResponseHead } from './plugin.ts'
import type { PluginServices } from './plugin-services.ts'
import { UpstreamFailure } from './upstream-failure.ts'

/** What stands behind the chain: the upstream for a turn, a handler of ours for a query. */
export type Call = (x: Exchange & Partial<Slots>, wire: Wire) => Promise<Answer>

/** What a call has of the exchange: the client, and the two hooks that run while it runs. */
export interface Wire {
  readonly client: Client
  /** To be called when the upstream has accepted, before the first byte to the client. */
  accepted(head: ResponseHead): void | Promise<void>
  /** To be called with each streamed event's JSON text; null when no plugin listens, so that nobody need make the text. */
  readonly event: ((json: string) => void) | null
  /** Headers for a stream's opening. */
  headers(): Record<string, string>
}

/** What the runner itself needs besides: somebody to tell how it went. */
export interface ChainServices extends PluginServices {
  readonly observe: {
    exchangeEnded(x: Exchange & Partial<Slots>, outcome: Outcome): void
    hookFailed(x: Exchange, plugin: string, hook: string, error: unknown): void
    /** A bug or a broken part of ours. */
    requestFailed(x: Exchange, failure: GatewayError): void
  }
}

/** A list of plugins, sorted once by the hooks they have. */
export class Chain {
  readonly plugins: readonly AnyPlugin[]
  readonly #turn: Steps
  readonly #query: Steps

  constructor(plugins: readonly AnyPlugin[]) {
    this.plugins = plugins
    this.#turn = stepsOf(plugins)
    this.#query = stepsOf(plugins.filter((plugin) => plugin.on !== 'turn'))
  }

  /** Runs one exchange to its last word. Never rejects. */
  async run(x: Exchange & Partial<Slots>, call: Call, client: Client, services: ChainServices): Promise<Outcome> {
    const steps = x.kind === 'turn' ? this.#turn : this.#query
    let outcome: Outcome
    let last: Answer['last'] | undefined
    try {
      const reply = await ask(steps, x, services)
      if (reply === undefined) x.callStartedTicks = services.clock.ticks()
      const answer: Answer =
        reply === undefined
          ? await call(x, new ChainWire(steps, x, client, services))
          : { usage: nothingUsed, last: { kind: 'reply', reply } }
      last = answer.last
      // A plugin may have left a header that none can carry: who cannot be answered is not charged. A stream's were sent long ago.
      if (last.kind === 'reply') client.prove(x.headers)
      // The answer is whole: it is settled in full, whether or not the last word arrives, or anybody has heard a word of it.
      outcome = { kind: client.left && !client.opened ? 'aborted' : 'completed', usage: answer.usage }
    } catch (thrown) {
      outcome =
        thrown instanceof ClientLeft
          ? { kind: 'aborted', usage: thrown.usage }
          : { kind: 'failed', failure: renamed(steps, x, thrown, services), streamed: client.opened }
    }
    const endedTicks = services.clock.ticks()
    if (x.callStartedTicks !== undefined) x.callEndedTicks = endedTicks
    x.debug.latencyMs = Math.round(endedTicks - x.startedTicks)
    await settle(steps, x, outcome, services)
    sayLastWord(x, outcome, last, client, services)
    services.observe.exchangeEnded(x, outcome)
    x.inbound.over?.()
    return outcome
  }
}

interface Steps {
  readonly request: readonly AnyPlugin[]
  readonly response: readonly AnyPlugin[]
  readonly event: readonly AnyPlugin[]
  readonly failure: readonly AnyPlugin[]
  readonly settle: readonly AnyPlugin[]
}

function stepsOf(plugins: readonly AnyPlugin[]): Steps {
  return {
    request: plugins.filter((plugin) => plugin.onRequest !== undefined),
    response: plugins.filter((plugin) => plugin.onResponse !== undefined),
    event: plugins.filter((plugin) => plugin.onEvent !== undefined),
    failure: plugins.filter((plugin) => plugin.onFailure !== undefined),
    settle: plugins.filter((plugin) => plugin.onSettle !== undefined),
  }
}

async function ask(steps: Steps, x: Exchange & Partial<Slots>, services: ChainServices): Promise<Reply | undefined> {
  for (const plugin of steps.request) {
    // What it needs is there: that was checked of the list, before the first request.
    let reply = plugin.onRequest?.(x as Filled<Slot>, services)
    if (reply instanceof Promise) reply = await reply
    if (reply !== undefined) return reply
  }
  return undefined
}

/** To this plugin, whose type knows no other slots, the exchange is one on which all are filled. */
function isFilled(x: Exchange & Partial<Slots>, plugin: AnyPlugin): x is Filled<Slot> {
  return has(x, plugin.needs) && has(x, plugin.gives)
}

function has(x: Exchange & Partial<Slots>, slots: readonly Slot[] | undefined): boolean {
  if (slots !== undefined) for (const slot of slots) if (x[slot] === undefined) return false
  return true
}

function renamed(steps: Steps, x: Exchange & Partial<Slots>, thrown: unknown, services: ChainServices): GatewayError {
  let failure = thrown instanceof UpstreamFailure ? thrown : toFailure(thrown)
  for (const plugin of steps.failure) {
    if (!isFilled(x, plugin)) continue
    try {
      failure = failureIn(plugin.onFailure?.(x, failure, services)) ?? failure
    } catch (error) {
      services.observe.hookFailed(x, plugin.name, 'onFailure', error)
    }
  }
  const named = toFailure(failure)
  if (named.details.upstreamStatus !== undefined) x.debug.upstreamStatus = named.details.upstreamStatus
  return named
}

/** A configuration's types are not checked when it is run, and what is no failure must not take the place of the one there is. */
function failureIn(returned: unknown): GatewayError | UpstreamFailure | undefined {
  if (returned === undefined || returned instanceof GatewayError || returned instanceof UpstreamFailure) return returned
  // Nobody waits for it, nor for what it may be rejected with.
  if (returned instanceof Promise) returned.catch(() => undefined)
  throw new TypeError(
    `onFailure must return a GatewayError or nothing, not ${returned instanceof Promise ? 'a promise' : typeof returned}`,
  )
}

async function settle(steps: Steps, x: Exchange & Partial<Slots>, outcome: Outcome, services: ChainServices): Promise<void> {
  for (const plugin of steps.settle) {
    if (!isFilled(x, plugin)) continue
    try {
      const done = plugin.onSettle?.(x, outcome, services)
      if (done instanceof Promise) await done
    } catch (error) {
      // The answer stands. What could not be written is still owed to the ledger, which keeps it held and is tried again.
      services.observe.hookFailed(x, plugin.name, 'onSettle', error)
    }
  }
}

/** A plugin may have left a header that no answer can carry; the caller must still hear something. */
function sayLastWord(
  x: Exchange,
  outcome: Outcome,
  last: Answer['last'] | undefined,
  client: Client,
  services: ChainServices,
): void {
  try {
    lastWord(x, outcome, last, client)
  } catch (thrown) {
    const failure = new GatewayError('internal_error', { cause: thrown })
    services.observe.requestFailed(x, failure)
    if (client.opened) return client.end(envelopeFrames(x, failure))
    const reply = envelopeReply({ ...x, headers: {} }, failure)
    client.reply(reply.status, reply.headers, reply.body)
  }
}

function lastWord(x: Exchange, outcome: Outcome, last: Answer['last'] | undefined, client: Client): void {
  if (client.left) return
  if (outcome.kind === 'failed') {
    if (client.opened) client.end(envelopeFrames(x, outcome.failure))
    else {
      const reply = envelopeReply(x, outcome.failure)
      client.reply(reply.status, reply.headers, reply.body)
    }
    return
  }
  // Given up for lost though the line still stands, as one who has taken nothing for long.
  if (last === undefined) return client.cut()
  if (last.kind === 'tail') client.end(last.frames)
  else client.reply(last.reply.status, { ...last.reply.headers, ...x.headers, ...traceHeaders(x) }, last.reply.body)
}

class ChainWire implements Wire {
  readonly client: Client
  readonly event: ((json: string) => void) | null
  readonly #steps: Steps
  readonly #x: Exchange & Partial<Slots>
  readonly #services: ChainServices

  constructor(steps: Steps, x: Exchange & Partial<Slots>, client: Client, services: ChainServices) {
    this.client = client
    this.#steps = steps
    this.#x = x
    this.#services = services
    this.event = steps.event.length === 0 ? null : (json) => this.#tellEvent(json)
  }

  accepted(head: ResponseHead): void | Promise<void> {
    if (this.#steps.response.length > 0) return this.#tellResponse(head)
  }

  headers(): Record<string, string> {
    return { ...this.#x.headers, ...traceHeaders(this.#x) }
  }

  async #tellResponse(head: ResponseHead): Promise<void> {
    for (const plugin of this.#steps.response) {
      if (!isFilled(this.#x, plugin)) continue
      const done = plugin.onResponse?.(this.#x, head, this.#services)
      if (done instanceof Promise) await done
    }
  }

  #tellEvent(json: string): void {
    for (const plugin of this.#steps.event) if (isFilled(this.#x, plugin)) plugin.onEvent?.(this.#x, json)
  }
}
