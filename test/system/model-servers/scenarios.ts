/**
 * Every recorded case as a member meets it: the request that the member sends, how the upstream is configured, and what the replay server plays. A
 * recording of a whole answer is played to a gateway that asks for whole answers; one of a stream is played to a member who streams and to one
 * who wants the whole answer, where the gateway chooses how to ask.
 */
import { listCases, loadRecording, servers } from './recording.ts'
import type { Recording, RecordedRequest, ServerName } from './recording.ts'
import type { Playback, ReceivedRequest } from './replay-server.ts'

/** `whole`: member and gateway ask for a whole answer; `streamed`: the member streams; `gathered`: the member wants it whole, the gateway decides. */
export type Asking = 'whole' | 'streamed' | 'gathered'

export interface Scenario {
  /** `server/case asking`, as in the tables. */
  readonly id: string
  readonly server: ServerName
  readonly recording: Recording
  readonly asking: Asking
  /** The model that the target names; null leaves the choice to the upstream's list. */
  readonly model: string | null
  /** The members' requests, one after the other: the second one meets the connection that the first one left. */
  readonly turns: readonly { readonly body: (product: string) => string; readonly afterMs: number }[]
  /** What the upstream plays for a request of turn `turn` (from 0). */
  play(request: ReceivedRequest, turn: number): Playback | undefined
}

export function listScenarios(): Scenario[] {
  return servers.flatMap((server) =>
    listCases(server).flatMap((name) => {
      const recording = loadRecording(server, name)
      if (recording.request.path === '/v1/models') return [modelsScenario(server, recording)]
      if (name === 'request-id-mbr' || name === 'request-id-mbr-stream') return [requestIdScenario(server, recording)]
      if (recording.next !== undefined) return [twoTurns(server, recording, recording.next[0]?.sentAfterMs ?? 0)]
      if (name === 'idle-connection') return [twoTurns(server, recording, 50)]
      return isStreamed(recording.request)
        ? [oneTurn(server, recording, 'streamed'), oneTurn(server, recording, 'gathered')]
        : [oneTurn(server, recording, 'whole')]
    }),
  )
}

export function isStreamed({ body }: RecordedRequest): boolean {
  return typeof body === 'string' ? body.includes('"stream":true') : (body as { stream?: unknown } | undefined)?.stream === true
}

function oneTurn(server: ServerName, recording: Recording, asking: Asking): Scenario {
  const whole = asking === 'whole' ? recording : loadRecording(server, wholeSibling(server, recording.case))
  return {
    ...baseOf(server, recording, asking),
    turns: [{ body: memberBody(recording.request, asking === 'streamed'), afterMs: 0 }],
    play: (request) => chatOnly(request, asksForStream(request) ? recording : whole),
  }
}

/** The second turn is answered as recorded where it comes on the same connection, and in good health on a new one. */
function twoTurns(server: ServerName, recording: Recording, afterMs: number): Scenario {
  const { request } = recording
  // What the gateway refuses by itself never reaches a server, so the failure is provoked by a well-formed request.
  const first = typeof request.body === 'string' ? healthyRequest(server) : request
  const streamed = isStreamed(request)
  return {
    ...baseOf(server, recording, streamed ? 'streamed' : 'whole'),
    turns: [
      { body: memberBody(first, streamed), afterMs: 0 },
      { body: memberBody(healthyRequest(server), streamed), afterMs },
    ],
    play: (request, turn) =>
      chatOnly(request, turn === 0 ? recording : loadRecording(server, asksForStream(request) ? 'stream' : 'plain')),
  }
}

/** A server that interprets `X-Request-Id` and answers what it does not like as recorded; without one it answers as usual. */
function requestIdScenario(server: ServerName, recording: Recording): Scenario {
  const streamed = isStreamed(recording.request)
  const isRefusal = recording.response.head.startsWith('HTTP/1.1 4')
  const usual = isRefusal ? loadRecording(server, streamed ? 'stream' : 'request-id-uuid') : recording
  return {
    ...baseOf(server, recording, streamed ? 'streamed' : 'whole'),
    turns: [{ body: memberBody(usual.request, streamed), afterMs: 0 }],
    play: (request) => chatOnly(request, isForeignId(request) ? recording : usual),
  }
}

/** No model is configured: the upstream's list decides which one is asked for, and the server answers for it. */
function modelsScenario(server: ServerName, recording: Recording): Scenario {
  const isOpen = recording.case.startsWith('no-auth')
  const unknown = recording.case.startsWith('unpinned') ? 'unpinned-unknown-model' : 'unknown-model'
  const known = new Set([modelOf(healthyRequest(server)), 'tiny:latest', ...listedIn(recording)])
  return {
    ...baseOf(server, recording, 'whole'),
    model: null,
    turns: [{ body: memberBody(healthyRequest(server), false), afterMs: 0 }],
    play(request) {
      if (request.path.endsWith('/models'))
        return recording.case.endsWith('request-id-mbr') && !isForeignId(request)
          ? loadRecording(server, 'models-list')
          : recording
      if (isOpen) return chatOnly(request, loadRecording(server, 'no-auth'))
      const { model } = JSON.parse(request.body) as { model: string }
      return chatOnly(request, loadRecording(server, known.has(model) ? 'plain' : unknown))
    },
  }
}

function baseOf(server: ServerName, recording: Recording, asking: Asking) {
  return { id: `${server}/${recording.case} ${asking}`, server, recording, asking, model: modelOf(recording.request) }
}

function chatOnly({ path }: ReceivedRequest, recording: Recording): Playback | undefined {
  if (!path.endsWith('/chat/completions')) return undefined
  const { response, next } = recording
  return { response, ...(next === undefined ? {} : { next }) }
}

/** The case's name without a stream, or a healthy whole answer. */
function wholeSibling(server: ServerName, name: string): string {
  const names = listCases(server)
  const sibling = name.replace(/-stream(?=-|$)/, '')
  if (sibling !== name && names.includes(sibling)) return sibling
  return name.startsWith('stream-n') ? 'plain-n2' : 'plain'
}

function healthyRequest(server: ServerName): RecordedRequest {
  return loadRecording(server, 'plain').request
}

function memberBody({ body }: RecordedRequest, stream: boolean): (product: string) => string {
  if (typeof body === 'string') {
    const text = stream ? body : body.replace('"stream":true', '"stream":false')
    return (product) => text.replace(/"model":"[^"]*"/, `"model":${JSON.stringify(product)}`)
  }
  const { stream_options: options, ...rest } = body as Record<string, unknown>
  return (product) =>
    JSON.stringify({ ...rest, model: product, stream, ...(stream && options !== undefined ? { stream_options: options } : {}) })
}

function modelOf({ body }: RecordedRequest): string {
  const found = typeof body === 'string' ? /"model":"([^"]*)"/.exec(body)?.[1] : (body as { model?: string } | undefined)?.model
  return found ?? 'unnamed'
}

function listedIn({ response }: Recording): string[] {
  const text = response.chunks.map((chunk) => chunk.text ?? '').join('')
  return [...text.matchAll(/"id": ?"([^"]+)"/g)].map(([, id]) => id ?? '')
}

function asksForStream({ body }: ReceivedRequest): boolean {
  return body.includes('"stream":true')
}

function isForeignId({ headers }: ReceivedRequest): boolean {
  const id = headers['x-request-id']
  return id !== undefined && !/^[0-9a-f]{8}-?([0-9a-f]{4}-?){3}[0-9a-f]{12}$/i.test(id)
}
