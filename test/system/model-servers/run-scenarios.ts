/**
 * Puts scenarios through one gateway. Each has an upstream, a target and a product of its own, so that what the gateway learns about one server or
 * keeps connected to it does not decide another case.
 */
import type { Test } from 'tap'
import { startGateway, waitUntil } from '../../support/gateway/test-gateway.ts'
import type { Overrides, TestGateway } from '../../support/gateway/test-gateway.ts'
import { startReplayServer } from './replay-server.ts'
import type { Playback } from './replay-server.ts'
import type { Scenario } from './scenarios.ts'

/** What the member received for one turn, and what the ledger has of it. */
export interface Observed {
  readonly scenario: Scenario
  /** From 0. */
  readonly turn: number
  readonly status: number
  /** Null where it is an answer. */
  readonly code: string | null
  /** Head and body as text. */
  readonly received: string
  /** The answer: one completion, or the chunks of a stream. */
  readonly chunks: readonly Completion[]
  /** What breaks the rules for every answer, as a sentence. */
  readonly fault: string | null
  /** Null where no turn began. */
  readonly booked: Booked | null
}

export interface Booked {
  readonly credits: number
  readonly held: number
  readonly inputTokens: number
  readonly outputTokens: number
  /** Our own count was charged, at least in part. */
  readonly estimated: boolean
  readonly disputed: boolean
}

export interface Completion {
  readonly id?: string
  readonly choices: readonly {
    readonly index: number
    readonly finish_reason?: string | null
    readonly message?: { readonly content?: string | null; readonly tool_calls?: unknown; readonly function_call?: unknown }
    readonly delta?: Readonly<Record<string, unknown>>
  }[]
  readonly usage?: unknown
}

/** A running server in place of the replay. */
export interface LiveUpstream {
  readonly baseUrl: string
  readonly apiKey: string | null
  readonly model: string | null
}

export interface RunOptions {
  /** Where each scenario's upstream is; the replay server by default. */
  readonly upstreamOf?: (scenario: Scenario) => LiveUpstream
  /** Turns that run at the same time. */
  readonly atOnce?: number
  /** A turn without an end after this time is a hang. */
  readonly hangMs?: number
  /** Changes what is played, for example to cut it. */
  readonly change?: (playback: Playback, scenario: Scenario) => Playback
  readonly overrides?: Overrides
}

export async function runScenarios(t: Test, scenarios: readonly Scenario[], options: RunOptions = {}): Promise<Observed[]> {
  const { change = (playback) => playback, overrides = {}, atOnce = 8, hangMs = 60_000 } = options
  const turnOf = new Map<number, number>()
  const replay = await startReplayServer((request) => {
    const index = Number(/^\/s(\d+)\//.exec(request.path)?.[1])
    const scenario = scenarios[index]
    const playback = scenario?.play(request, turnOf.get(index) ?? 0)
    return scenario === undefined || playback === undefined ? undefined : change(playback, scenario)
  })
  t.teardown(() => replay.close())
  const replayed = scenarios.map(({ model }, index) => ({
    baseUrl: `${replay.url}/s${index}/v1`,
    apiKey: 'sk-operators-own',
    model,
  }))
  const { upstreamOf } = options
  const upstreams = upstreamOf === undefined ? replayed : scenarios.map(upstreamOf)
  const g = await startGateway(t, configured(scenarios, upstreams, overrides))
  const isListed = (index: number): boolean => replay.requests.some(({ path }) => path === `/s${index}/v1/models`)
  if (upstreamOf === undefined)
    await waitUntil(
      () => replayed.every(({ model }, index) => model !== null || isListed(index)),
      'the lists of models to be asked for',
    )
  const { token } = await g.createMember()
  const observed: Unbooked[] = []
  const waiting = scenarios.map((scenario, index) => ({ scenario, index }))
  const work = async (): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift())
      for (const [turn, { afterMs, body }] of next.scenario.turns.entries()) {
        if (turn > 0) await new Promise((resolve) => setTimeout(resolve, afterMs))
        turnOf.set(next.index, turn)
        observed.push({ scenario: next.scenario, turn, ...(await ask(g, token, body(`case-${next.index}`), hangMs)) })
      }
  }
  await Promise.all(Array.from({ length: atOnce }, work))
  await g.waitUntilSettled()
  return withBooks(g, observed)
}

type Unbooked = Omit<Observed, 'booked'> & { readonly requestId: string | null }

function configured(scenarios: readonly Scenario[], upstreams: readonly LiveUpstream[], overrides: Overrides): Overrides {
  const product = { name: 'Case', tier: 'flagship', capabilities: ['chat', 'tools', 'vision'], contextLength: 128_000 } as const
  return {
    ...overrides,
    upstreams: Object.fromEntries(
      upstreams.map(({ baseUrl, apiKey }, index) => [
        `u${index}`,
        { baseUrl, apiKey, ...(scenarios[index]?.asking === 'whole' ? { streams: false } : {}) },
      ]),
    ),
    products: Object.fromEntries(
      upstreams.map(({ model }, index) => [
        `case-${index}`,
        { ...product, maxOutputTokens: 8_192, targets: [{ upstream: `u${index}`, model }] },
      ]),
    ),
  } as Overrides
}

async function ask(g: TestGateway, token: string, body: string, hangMs: number): Promise<Omit<Unbooked, 'scenario' | 'turn'>> {
  const nothing = { status: 0, code: null, received: '', chunks: [], requestId: null }
  try {
    const response = await fetch(`${g.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body,
      signal: AbortSignal.timeout(hangMs),
    })
    const text = await response.text()
    const head = [...response.headers].map(([name, value]) => `${name}: ${value}`).join('\n')
    const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') === true
    return {
      status: response.status,
      received: `${head}\n\n${text}`,
      requestId: response.headers.get('x-request-id'),
      ...(response.status !== 200 ? readRefusal(text) : isStream ? readStream(text) : readWhole(text)),
    }
  } catch (error) {
    return { ...nothing, fault: `no whole answer within ${hangMs} ms: ${String(error)}` }
  }
}

type Reading = Pick<Observed, 'code' | 'chunks' | 'fault'>

function readRefusal(text: string): Reading {
  const { code, error } = JSON.parse(text) as { code: string; error?: { code?: string } }
  return { code, chunks: [], fault: error?.code === code ? null : 'the two codes of the error differ' }
}

function readWhole(text: string): Reading {
  const completion = JSON.parse(text) as Completion
  return { code: null, chunks: [completion], fault: completion.choices.length > 0 ? null : 'an answer without a choice' }
}

/** A stream is chunks and `[DONE]`, or chunks, one error and `[DONE]`. */
function readStream(text: string): Reading {
  const data = text
    .split('\n\n')
    .filter((frame) => frame.startsWith('data: '))
    .map((frame) => frame.slice('data: '.length))
  const events = data.filter((each) => each !== '[DONE]').map((each) => JSON.parse(each) as Completion & { code?: string })
  const errors = events.filter((event) => event.code !== undefined)
  const chunks = events.filter((event) => event.code === undefined)
  const reading = { code: errors[0]?.code ?? null, chunks }
  if (data.at(-1) !== '[DONE]') return { ...reading, fault: 'a stream without [DONE] at its end' }
  if (data.filter((each) => each === '[DONE]').length > 1) return { ...reading, fault: 'more than one [DONE]' }
  if (errors.length > 1) return { ...reading, fault: 'more than one error' }
  if (errors.length === 1 && events.at(-1) !== errors[0]) return { ...reading, fault: 'an error before other events' }
  if (errors.length === 0 && !chunks.some(({ choices }) => choices.some((choice) => choice.finish_reason)))
    return { ...reading, fault: 'a stream without finish_reason and without an error' }
  return { ...reading, fault: null }
}

async function withBooks(g: TestGateway, observed: readonly Unbooked[]): Promise<Observed[]> {
  const turns = new Map((await g.listTurns()).map((turn) => [turn.requestId, turn]))
  return observed.map(({ requestId, ...rest }) => {
    const turn = turns.get(requestId ?? '')
    if (turn === undefined) return { ...rest, booked: null }
    const { credits, reserved: held, inputTokens, outputTokens, estimated, disputed } = turn
    return { ...rest, booked: { credits, held, inputTokens, outputTokens, estimated, disputed: disputed !== null } }
  })
}
