/**
 * Runs the plugins of an exchange. Every exchange ends here.
 *
 * 1. Hooks run in list order; `onRequest` stops at the first error or returned reply, and then the call follows.
 * 2. A later hook runs only for plugins whose `needs` and `gives` are filled.
 * 3. Failure hooks pass the failure along the list; an error in one settle hook does not affect the others.
 * 4. The outcome is decided, settled durably, and then the final response is sent. A client that has seen the end can trust the ledger.
 * 5. An empty list works; an unclassified error is `internal_error`.
 * 6. A hook that returns no promise is not awaited.
 */
import { GatewayError } from '../../errors.ts'
import type { AnswerEncoder, JsonObject } from '../api-format/api-format.ts'
import type { ResponseSink } from '../response-sink.ts'
import { toEnvelopeFrames, toEnvelopeReply, toRequestIdHeaders } from '../envelope.ts'
import { zeroUsage, ClientDisconnected, toFailure } from '../exchange.ts'
import type { CallResult, Exchange, Outcome, Reply, Slot, Slots, Usage } from '../exchange.ts'
import type { AnyPlugin, ExchangeWith, ResponseHead } from './plugin.ts'
import type { PluginServices } from './plugin-services.ts'
import { computeTurnCharge, toChargeFields } from '../turn-charge.ts'
import { UpstreamFailure } from '../upstream-failure.ts'

/** What follows the chain: the upstream call of a turn, or the handler of an unmetered request. */
export type TurnHandler = (x: Exchange & Partial<Slots>, callContext: CallContext) => Promise<CallResult>

/** The parts of the exchange that a call needs: the client, and the two hooks that run during the call. */
export interface CallContext {
  readonly client: ResponseSink
  /** Set if the client uses another API format than chat completions: it writes the events of each chunk. */
  readonly encoder?: AnswerEncoder | undefined
  /** Call this when the upstream has accepted, before the first byte is sent to the client. */
  onUpstreamHeaders(head: ResponseHead): void | Promise<void>
  /** Call this with each streamed event's JSON text. Null if no plugin listens, so that the text need not be created. */
  readonly onEvent: ((json: string) => void) | null
  /** What a turn with this usage costs, for the last event of its stream; undefined where nothing is charged. */
  describeCharge?(usage: Usage): JsonObject | undefined
  /** Headers of the response. */
  headers(): Record<string, string>
}

/** The same call for another client, or in another format. */
export function changeCallContext(
  callContext: CallContext,
  changes: Partial<Pick<CallContext, 'client' | 'encoder'>>,
): CallContext {
  return {
    client: callContext.client,
    encoder: callContext.encoder,
    onEvent: callContext.onEvent,
    onUpstreamHeaders: (head) => callContext.onUpstreamHeaders(head),
    describeCharge: (usage) => callContext.describeCharge?.(usage),
    headers: () => callContext.headers(),
    ...changes,
  }
}

/** The services of the plugins, and the telemetry that records how the exchange ended. */
interface PluginChainServices extends PluginServices {
  readonly telemetry: {
    recordExchange(x: Exchange & Partial<Slots>, outcome: Outcome): void
    recordPluginError(x: Exchange, plugin: string, hook: string, error: unknown): void
    /** A bug or a defect of the gateway. */
    recordInternalError(x: Exchange, failure: GatewayError): void
  }
}

/** A list of plugins, grouped once by their hooks. */
export class PluginChain {
  readonly plugins: readonly AnyPlugin[]
  readonly #turn: HooksByStage
  readonly #unmetered: HooksByStage

  constructor(plugins: readonly AnyPlugin[]) {
    this.plugins = plugins
    this.#turn = groupByHook(plugins)
    this.#unmetered = groupByHook(plugins.filter((plugin) => plugin.on !== 'turn'))
  }

  /** Runs one exchange to its end. Never rejects. */
  async run(
    x: Exchange & Partial<Slots>,
    call: TurnHandler,
    client: ResponseSink,
    services: PluginChainServices,
  ): Promise<Outcome> {
    const hooks = x.kind === 'turn' ? this.#turn : this.#unmetered
    let outcome: Outcome
    let final: CallResult['final'] | undefined
    try {
      const reply = await runRequestHooks(hooks, x, services)
      if (reply === undefined) x.callStartedMonotonicMs = services.clock.monotonicMs()
      const result: CallResult =
        reply === undefined
          ? await call(x, new ChainCallContext(hooks, x, client, services))
          : { usage: zeroUsage, final: { kind: 'reply', reply: x.translation?.translateReply(x, reply) ?? reply } }
      final = result.final
      // A plugin may have set an invalid header: a client that cannot be answered is not charged. A stream's headers were sent earlier.
      if (final.kind === 'reply') client.validateHeaders(x.headers)
      // The upstream response is complete: charge it in full even if the client never receives it.
      const isAborted = result.isAbandoned === true || (client.disconnected && !client.headersSent)
      outcome = { kind: isAborted ? 'aborted' : 'completed', usage: result.usage }
    } catch (thrown) {
      outcome =
        thrown instanceof ClientDisconnected
          ? { kind: 'aborted', usage: thrown.usage }
          : { kind: 'failed', failure: mapFailure(hooks, x, thrown, services), streamed: client.headersSent }
    }
    const endedMonotonicMs = services.clock.monotonicMs()
    if (x.callStartedMonotonicMs !== undefined) x.callEndedMonotonicMs = endedMonotonicMs
    x.debug.latencyMs = Math.round(endedMonotonicMs - x.startedMonotonicMs)
    await runSettleHooks(hooks, x, outcome, services)
    sendFinalResponse(x, outcome, final, client, services)
    services.telemetry.recordExchange(x, outcome)
    x.inbound.dispose?.(x.caller?.account.id)
    return outcome
  }
}

interface HooksByStage {
  readonly request: readonly AnyPlugin[]
  readonly response: readonly AnyPlugin[]
  readonly event: readonly AnyPlugin[]
  readonly failure: readonly AnyPlugin[]
  readonly settle: readonly AnyPlugin[]
}

function groupByHook(plugins: readonly AnyPlugin[]): HooksByStage {
  return {
    request: plugins.filter((plugin) => plugin.onRequest !== undefined),
    response: plugins.filter((plugin) => plugin.onResponse !== undefined),
    event: plugins.filter((plugin) => plugin.onEvent !== undefined),
    failure: plugins.filter((plugin) => plugin.onFailure !== undefined),
    settle: plugins.filter((plugin) => plugin.onSettle !== undefined),
  }
}

async function runRequestHooks(
  hooks: HooksByStage,
  x: Exchange & Partial<Slots>,
  services: PluginChainServices,
): Promise<Reply | undefined> {
  for (const plugin of hooks.request) {
    // Its `needs` are filled: `plugin-order.ts` checked that at start.
    let reply = plugin.onRequest?.(x as ExchangeWith<Slot>, services)
    if (reply instanceof Promise) reply = await reply
    if (reply !== undefined) return reply
  }
  return undefined
}

/** This plugin's type has no other slots than those that are filled. */
function hasPluginSlots(x: Exchange & Partial<Slots>, plugin: AnyPlugin): x is ExchangeWith<Slot> {
  return hasSlots(x, plugin.needs) && hasSlots(x, plugin.gives)
}

function hasSlots(x: Exchange & Partial<Slots>, slots: readonly Slot[] | undefined): boolean {
  if (slots !== undefined) for (const slot of slots) if (x[slot] === undefined) return false
  return true
}

function mapFailure(
  hooks: HooksByStage,
  x: Exchange & Partial<Slots>,
  thrown: unknown,
  services: PluginChainServices,
): GatewayError {
  let failure = thrown instanceof UpstreamFailure ? thrown : toFailure(thrown)
  for (const plugin of hooks.failure) {
    if (!hasPluginSlots(x, plugin)) continue
    try {
      failure = requireFailure(plugin.onFailure?.(x, failure, services)) ?? failure
    } catch (error) {
      services.telemetry.recordPluginError(x, plugin.name, 'onFailure', error)
    }
  }
  const mappedFailure = toFailure(failure)
  if (mappedFailure.details.upstreamStatus !== undefined) x.debug.upstreamStatus = mappedFailure.details.upstreamStatus
  return mappedFailure
}

/** Configurations run without a type check, and a value that is no failure must not replace the failure. */
function requireFailure(returned: unknown): GatewayError | UpstreamFailure | undefined {
  if (returned === undefined || returned instanceof GatewayError || returned instanceof UpstreamFailure) return returned
  // A promise is not awaited, and its rejection is ignored.
  if (returned instanceof Promise) returned.catch(() => undefined)
  throw new TypeError(
    `onFailure must return a GatewayError or nothing, not ${returned instanceof Promise ? 'a promise' : typeof returned}`,
  )
}

async function runSettleHooks(
  hooks: HooksByStage,
  x: Exchange & Partial<Slots>,
  outcome: Outcome,
  services: PluginChainServices,
): Promise<void> {
  for (const plugin of hooks.settle) {
    if (!hasPluginSlots(x, plugin)) continue
    try {
      const hookResult = plugin.onSettle?.(x, outcome, services)
      if (hookResult instanceof Promise) await hookResult
    } catch (error) {
      // The response stands. A settlement that failed stays pending: its hold remains and it is retried.
      services.telemetry.recordPluginError(x, plugin.name, 'onSettle', error)
    }
  }
}

/** A plugin may have set an invalid header; the client must still receive a response. */
function sendFinalResponse(
  x: Exchange,
  outcome: Outcome,
  final: CallResult['final'] | undefined,
  client: ResponseSink,
  services: PluginChainServices,
): void {
  try {
    writeFinalResponse(x, outcome, final, client)
  } catch (thrown) {
    const failure = new GatewayError('internal_error', { cause: thrown })
    services.telemetry.recordInternalError(x, failure)
    // What failed may have been the frames of the failure.
    if (client.headersSent) return client.destroy()
    const reply = toEnvelopeReply({ ...x, headers: {} }, failure)
    client.reply(reply.status, reply.headers, reply.body)
  }
}

function writeFinalResponse(x: Exchange, outcome: Outcome, final: CallResult['final'] | undefined, client: ResponseSink): void {
  if (client.disconnected) return
  if (outcome.kind === 'failed') {
    if (client.headersSent) client.end(toEnvelopeFrames(x, outcome.failure))
    else {
      const reply = toEnvelopeReply(x, outcome.failure)
      client.reply(reply.status, reply.headers, reply.body)
    }
    return
  }
  // Slow-reader timeout: close the socket without a final frame.
  if (final === undefined) return client.destroy()
  if (final.kind === 'trailer') client.end(final.frames)
  else client.reply(final.reply.status, { ...final.reply.headers, ...x.headers, ...toRequestIdHeaders(x) }, final.reply.body)
}

class ChainCallContext implements CallContext {
  readonly client: ResponseSink
  readonly onEvent: ((json: string) => void) | null
  readonly #hooks: HooksByStage
  readonly #x: Exchange & Partial<Slots>
  readonly #services: PluginChainServices

  constructor(hooks: HooksByStage, x: Exchange & Partial<Slots>, client: ResponseSink, services: PluginChainServices) {
    this.client = client
    this.#hooks = hooks
    this.#x = x
    this.#services = services
    this.onEvent = hooks.event.length === 0 ? null : (json) => this.#runEventHooks(json)
  }

  onUpstreamHeaders(head: ResponseHead): void | Promise<void> {
    if (this.#hooks.response.length > 0) return this.#runResponseHooks(head)
  }

  describeCharge(usage: Usage): JsonObject | undefined {
    const charge = computeTurnCharge(this.#x, usage)
    return charge && toChargeFields(charge)
  }

  headers(): Record<string, string> {
    return { ...this.#x.headers, ...toRequestIdHeaders(this.#x) }
  }

  async #runResponseHooks(head: ResponseHead): Promise<void> {
    for (const plugin of this.#hooks.response) {
      if (!hasPluginSlots(this.#x, plugin)) continue
      const hookResult = plugin.onResponse?.(this.#x, head, this.#services)
      if (hookResult instanceof Promise) await hookResult
    }
  }

  #runEventHooks(json: string): void {
    for (const plugin of this.#hooks.event) if (hasPluginSlots(this.#x, plugin)) plugin.onEvent?.(this.#x, json)
  }
}
