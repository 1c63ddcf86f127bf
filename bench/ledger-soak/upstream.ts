/** The upstream of the run, in the benchmark's own process: it follows each turn's plan and records what it produced, and when. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { requestIdHeader } from '../../src/upstream/attempt-request.ts'
import type { DishonestReading } from './dishonest-reading.ts'
import type { TurnPlan } from './turn-plan.ts'
import { wireFormats } from './wire-formats.ts'
import type { PlayedScript, UpstreamApi, WireFormat } from './wire-formats.ts'

/** What a call is for: the answer, or in a turn with a search the call that requests it, or the search itself. */
export type CallStep = 'answer' | 'request_search' | 'search'

/** One call, by the request id that the gateway sent. */
export interface Call {
  readonly step: CallStep
  readonly api: UpstreamApi
  /** Tokens of the whole answer: the plan's, or the requested maximum unless it ignores the cap. */
  readonly tokens: number
  /** Cap of the request, or of the member's where the gateway had to send a larger one; infinite without one. */
  readonly cap: number
  /** The time of each token's write, or of each event's if events have several tokens. */
  readonly tokenTimes: number[]
  ended: 'complete' | 'failed' | 'abandoned' | null
  endedAt: number
  /** The client was too slow for it. */
  gaveUp?: boolean
}

export interface Upstream {
  readonly url: string
  /** By request id; more than one if the gateway retried or the model searched. */
  readonly calls: ReadonlyMap<string, Call[]>
  /** How often each of the rarer behaviours was played. */
  readonly played: Readonly<Record<PlayedBehavior, number>>
  close(): void
}

export type PlayedBehavior =
  | 'ignoredCaps'
  | 'repeatedToolNames'
  | 'keptConnectionResets'
  | 'emptyStreams'
  | 'messagesCalls'
  | 'responsesCalls'
  | 'geminiCalls'
  | 'cachedReports'
  | 'searches'
  | 'files'
  | 'reasoningReports'
  | 'largeReports'
  | 'vendorForms'

export async function startUpstream(getPlan: (turn: number) => TurnPlan | undefined): Promise<Upstream> {
  const calls = new Map<string, Call[]>()
  const played: Record<PlayedBehavior, number> = {
    ignoredCaps: 0,
    repeatedToolNames: 0,
    keptConnectionResets: 0,
    emptyStreams: 0,
    messagesCalls: 0,
    responsesCalls: 0,
    geminiCalls: 0,
    cachedReports: 0,
    searches: 0,
    files: 0,
    reasoningReports: 0,
    largeReports: 0,
    vendorForms: 0,
  }
  /** Kept connections that are reset when their next request arrives. */
  const resetSockets = new WeakSet<Socket>()
  const server = createServer((request, response) => {
    response.on('error', () => undefined)
    void answer(request, response).catch(() => undefined)
  })
  server.keepAliveTimeout = 60_000

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.method !== 'POST')
      return sendJson(response, 200, { object: 'list', data: [{ id: 'big' }, { id: 'small' }, { id: 'search' }] })
    let text = ''
    for await (const chunk of request) text += String(chunk)
    const plan = getPlan(Number(/turn (\d+)/.exec(text)?.[1]))
    const id = String(request.headers[requestIdHeader])
    if (plan === undefined) throw new Error(`no client sent ${id}`)
    const api = findApi(request.url)
    const step = findStep(plan, text)
    const script = createStepScript(plan, step)
    const requestedCap = Number(/"max(?:(?:_completion|_output)?_t|OutputT)okens":(\d+)/.exec(text)?.[1] ?? Infinity)
    // The Responses API has a least cap.
    const cap = Math.min(requestedCap, plan.maxTokens ?? Infinity)
    const tokens = script.ignoresCap ? script.tokens : Math.min(script.tokens, cap)
    const failsAfter = Math.min(script.failsAfter, cap)
    const call: Call = { step, api, tokens, cap, tokenTimes: [], ended: null, endedAt: 0 }
    const known = calls.get(id)
    if (known === undefined) calls.set(id, [call])
    else known.push(call)
    const end = (how: 'complete' | 'failed' | 'abandoned'): void => {
      if (call.ended !== null) return
      call.ended = how
      call.endedAt = performance.now()
    }
    response.on('close', () => end('abandoned'))
    if (resetSockets.delete(request.socket)) {
      end('failed')
      played.keptConnectionResets++
      return void request.socket.resetAndDestroy()
    }
    if (script.resetsKeptConnection) resetSockets.add(request.socket)
    const isStream = text.includes('"stream":true') || request.url?.includes(':streamGenerateContent') === true
    if (script.ignoresCap) played.ignoredCaps++
    if (script.repeatsToolName) played.repeatedToolNames++
    if (script.ending === 'empty_stream' && isStream) played.emptyStreams++
    if (api !== 'chat') played[`${api}Calls`]++
    if (step === 'search') played.searches++
    if ((script.cachedTokens ?? 0) > 0) played.cachedReports++
    if (plan.media !== null) played.files++
    if (script.reasoningTokens > 0) played.reasoningReports++
    if (script.hasLargeReport) played.largeReports++
    if (api === 'chat' && script.vendorForm !== 'plain') played.vendorForms++
    await playScript({ ...script, tokens, failsAfter }, wireFormats[api], isStream, plan.dishonest, call, response, end)
  }

  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    calls,
    played,
    close: () => {
      server.close()
      server.closeAllConnections()
    },
  }
}

function findApi(path = ''): UpstreamApi {
  if (path.endsWith('/messages')) return 'messages'
  if (/:(?:generate|streamGenerate)Content/.test(path)) return 'gemini'
  return path.endsWith('/responses') ? 'responses' : 'chat'
}

function findStep({ search }: TurnPlan, body: string): CallStep {
  if (search === null) return 'answer'
  if (body.includes('"model":"search"')) return 'search'
  return /"role":"tool"|"type":"(?:tool_result|function_call_output)"|"functionResponse"/.test(body) ? 'answer' : 'request_search'
}

/** The model and its search do not fail where the search is requested; the answer follows the turn's script. */
export function createStepScript({ script, search, number }: TurnPlan, step: CallStep): PlayedScript {
  const plain = { ...script, searchQuery: null, isSearchAnswer: false }
  if (step === 'answer') return plain
  const quick = { ...plain, ending: 'complete', usage: 'right', headMs: 0, paceMs: 0, resetsKeptConnection: false } as const
  if (step === 'request_search')
    return { ...quick, tokens: searchCallTokens, answersWithDocument: false, searchQuery: `turn ${number}` }
  const ending = search === 'fails' ? 'status' : 'complete'
  return { ...quick, ending, status: 500, answersWithDocument: true, isSearchAnswer: true }
}

const searchCallTokens = 12

async function playScript(
  script: PlayedScript,
  wire: WireFormat,
  isStream: boolean,
  dishonest: DishonestReading | null,
  call: Call,
  response: ServerResponse,
  end: (how: 'complete' | 'failed') => void,
): Promise<void> {
  const { ending, tokens, paceMs, headMs } = script
  let givesUpBy: DishonestReading['upstreamGivesUpBy'] | null = null
  if (headMs > 0) await pause(headMs)
  const reset = (): void => {
    end('failed')
    response.socket?.resetAndDestroy()
  }
  switch (ending) {
    case 'status':
      end('failed')
      return sendJson(response, script.status, { error: { message: 'It rains.', type: 'weather', code: 'weather' } })
    case 'web_page':
      end('failed')
      response.writeHead(200, { 'content-type': 'text/html' })
      return void response.end('<html><body>"choices" are many here</body></html>')
    case 'reset_at_once':
      return reset()
    case 'empty_stream':
      if (!isStream) break
      end('failed')
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      return void response.end()
  }
  const isWhole = ending === 'complete' || ending === 'empty_stream'
  const count = isWhole ? Math.floor(tokens / script.chunkTokens) : script.failsAfter
  if (isWhole && (script.answersWithDocument || ending === 'empty_stream')) {
    // All of it is produced before the first byte is visible, unlike in a stream.
    if (paceMs > 0) await pause(paceMs * tokens)
    recordTokens(call, tokens)
    end('complete')
    return sendJson(response, 200, wire.createDocument(script))
  }
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  const events = wire.createOutput(script, count)
  const start = wire.createStart(script)
  if (paceMs === 0 && dishonest === null) {
    recordTokens(call, count)
    if (isWhole) {
      end('complete')
      return void response.end(start + events.join('') + wire.createEnd(script))
    }
    response.write(start + events.join(''))
  } else {
    if (start !== '') response.write(start)
    for (const event of events) {
      if (response.destroyed) return
      recordTokens(call, 1)
      if (!response.write(event) && dishonest !== null && !(await waitForDrain(response, dishonest.upstreamPatienceMs))) {
        givesUpBy = dishonest.upstreamGivesUpBy
        break
      }
      if (paceMs > 0) await pause(paceMs)
    }
    if (response.destroyed) return
  }
  if (givesUpBy !== null) call.gaveUp = true
  switch (givesUpBy ?? ending) {
    case 'reset_midway':
      // Written tokens must be sent before the connection closes.
      await pause(5)
      return reset()
    case 'error_midway':
      response.write(wire.errorEvent)
      break
    case 'garbage':
      response.write(wire.brokenEvent)
      break
    case 'complete':
      response.write(wire.createEnd(script))
  }
  end(isWhole && givesUpBy === null ? 'complete' : 'failed')
  response.end()
}

/** Returns false if the client takes nothing for so long. */
async function waitForDrain(response: ServerResponse, patienceMs: number | null): Promise<boolean> {
  const drained = new AbortController()
  const { signal } = drained
  const ready = Promise.race([once(response, 'drain', { signal }), once(response, 'close', { signal })]).then(() => true)
  try {
    return await (patienceMs === null ? ready : Promise.race([ready, pause(patienceMs, false, { signal })]))
  } finally {
    drained.abort()
    ready.catch(() => undefined)
  }
}

function recordTokens(call: Call, tokens: number): void {
  const now = performance.now()
  for (let i = 0; i < tokens; i++) call.tokenTimes.push(now)
}

function sendJson(response: ServerResponse, status: number, value: object): void {
  response.writeHead(status, { 'content-type': 'application/json' })
  response.end(JSON.stringify(value))
}
