/**
 * A TCP server that answers requests with recorded bytes. It reads requests as HTTP/1.1 and writes what was recorded without interpreting it, so
 * that framing, chunk boundaries and the end of the connection reach the client as the real server sent them.
 */
import { once } from 'node:events'
import { createServer } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'
import { bytesOf, piecesOf } from './recording.ts'
import type { FollowingRequest, RecordedResponse } from './recording.ts'

export interface ReceivedRequest {
  /** Number of the connection, and of the request on it, from 1. */
  readonly connection: number
  readonly position: number
  readonly method: string
  readonly path: string
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** What a request is answered with. */
export interface Playback {
  readonly response: RecordedResponse
  /** Answers to the following requests on the same connection. */
  readonly next?: readonly Pick<FollowingRequest, 'response'>[]
  /** Factor for the recorded times. The default 0 writes one piece per turn of the event loop. */
  readonly speed?: number
  /** Piece boundaries: as recorded (default), everything in one write, every `n` bytes, or at these offsets. */
  readonly pieces?: 'recorded' | 'glued' | number | readonly number[]
  /** Ends the connection after this many bytes, head included. */
  readonly cutAt?: number
  /** How the connection ends: by default as recorded, and by FIN at `cutAt`. */
  readonly end?: 'FIN' | 'RST'
}

export interface ReplayServer {
  readonly url: string
  /** All requests so far. */
  readonly requests: readonly ReceivedRequest[]
  close(): Promise<void>
}

const notFound: RecordedResponse = {
  head: 'HTTP/1.1 404 Not Found\r\ncontent-length: 2\r\ncontent-type: application/json\r\n\r\n',
  chunks: [{ ms: 0, text: '{}' }],
  complete: true,
  closed: false,
  closedAfterMs: null,
}

/** Listens on a free port. `answer` chooses what to play; undefined is a 404. */
export async function startReplayServer(answer: (request: ReceivedRequest) => Playback | undefined): Promise<ReplayServer> {
  const requests: ReceivedRequest[] = []
  const sockets = new Set<Socket>()
  let connections = 0
  const server = createServer({ noDelay: true }, (socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket)).on('error', () => socket.destroy())
    serveConnection(socket, ++connections, (request) => {
      requests.push(request)
      return answer(request) ?? { response: notFound }
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    async close() {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}

/** What is written, and how the connection ends afterwards; `ending: null` keeps it open. */
export interface Plan {
  readonly pieces: readonly { readonly ms: number; readonly bytes: Buffer }[]
  readonly ending: { readonly ms: number; readonly by: 'FIN' | 'RST' } | null
}

export function planPlayback({ response, pieces = 'recorded', cutAt, end }: Playback): Plan {
  const whole = pieces === 'recorded' ? piecesOf(response) : splitAt(bytesOf(response), pieces)
  const lastMs = whole.at(-1)?.ms ?? 0
  if (cutAt !== undefined) return { pieces: firstBytes(whole, cutAt), ending: { ms: lastMs, by: end ?? 'FIN' } }
  if (!response.closed && end === undefined) return { pieces: whole, ending: null }
  return { pieces: whole, ending: { ms: response.closedAfterMs ?? lastMs, by: end ?? response.closedBy ?? 'FIN' } }
}

/** Boundaries that are not the recorded ones have no times of their own. */
function splitAt(bytes: Buffer, boundaries: 'glued' | number | readonly number[]): { ms: number; bytes: Buffer }[] {
  if (boundaries === 'glued') return [{ ms: 0, bytes }]
  const every = typeof boundaries === 'number' ? boundaries : 0
  const offsets =
    typeof boundaries === 'number'
      ? Array.from({ length: Math.ceil(bytes.length / every) }, (_, index) => index * every)
      : [0, ...boundaries.toSorted((a, b) => a - b)]
  return offsets
    .map((from, index) => ({ ms: 0, bytes: bytes.subarray(from, offsets[index + 1] ?? bytes.length) }))
    .filter(({ bytes }) => bytes.length > 0)
}

function firstBytes(pieces: Plan['pieces'], count: number): { ms: number; bytes: Buffer }[] {
  let left = count
  return pieces.flatMap(({ ms, bytes }) => {
    const kept = bytes.subarray(0, Math.max(0, left))
    left -= bytes.length
    return kept.length === 0 ? [] : [{ ms, bytes: kept }]
  })
}

function serveConnection(socket: Socket, connection: number, choose: (request: ReceivedRequest) => Playback): void {
  let received: Buffer = Buffer.alloc(0)
  let position = 0
  let following: Playback[] = []
  let isPlaying = false
  const readNext = (): void => {
    if (isPlaying) return
    const parsed = parseRequest(received)
    if (parsed === null) return
    received = received.subarray(parsed.bytes)
    const request = { connection, position: ++position, ...parsed.request }
    const recorded = following.shift()
    const playback = recorded ?? choose(request)
    if (recorded === undefined)
      following = (playback.next ?? []).flatMap(({ response }) =>
        response === null ? [] : [{ response, speed: playback.speed ?? 0 }],
      )
    isPlaying = true
    void play(socket, planPlayback(playback), playback.speed ?? 0).then(() => {
      isPlaying = false
      readNext()
    })
  }
  socket.on('data', (bytes: Buffer) => {
    received = Buffer.concat([received, bytes])
    readNext()
  })
}

async function play(socket: Socket, { pieces, ending }: Plan, speed: number): Promise<void> {
  const startedAt = performance.now()
  const waitUntil = (ms: number): Promise<unknown> => {
    const left = startedAt + ms * speed - performance.now()
    return left > 1 ? new Promise((resolve) => setTimeout(resolve, left)) : new Promise((resolve) => setImmediate(resolve))
  }
  for (const { ms, bytes } of pieces) {
    await waitUntil(ms)
    if (socket.destroyed) return
    if (!socket.write(bytes)) await Promise.race([once(socket, 'drain'), once(socket, 'close')])
  }
  if (ending === null) return
  await waitUntil(ending.ms)
  if (ending.by === 'FIN') socket.end()
  else socket.resetAndDestroy()
}

/** The first request in `received` and its length; null until it is complete. */
function parseRequest(
  received: Buffer,
): { readonly request: Omit<ReceivedRequest, 'connection' | 'position'>; readonly bytes: number } | null {
  const headEnd = received.indexOf('\r\n\r\n')
  if (headEnd < 0) return null
  const [first = '', ...lines] = received.subarray(0, headEnd).toString('latin1').split('\r\n')
  const [method = '', path = ''] = first.split(' ')
  const headers = Object.fromEntries(
    lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]),
  )
  const bodyStart = headEnd + 4
  const body =
    headers['transfer-encoding'] === undefined
      ? sizedBody(received, bodyStart, Number(headers['content-length'] ?? 0))
      : chunkedBody(received, bodyStart)
  return body === null ? null : { request: { method, path, headers, body: body.text }, bytes: body.end }
}

function sizedBody(received: Buffer, start: number, length: number): { text: string; end: number } | null {
  const end = start + length
  return received.length < end ? null : { text: received.subarray(start, end).toString(), end }
}

function chunkedBody(received: Buffer, start: number): { text: string; end: number } | null {
  const parts: Buffer[] = []
  for (let at = start; ;) {
    const lineEnd = received.indexOf('\r\n', at)
    if (lineEnd < 0) return null
    const size = Number.parseInt(received.subarray(at, lineEnd).toString('latin1'), 16)
    const end = lineEnd + 2 + size + 2
    if (received.length < end) return null
    if (size === 0) return { text: Buffer.concat(parts).toString(), end }
    parts.push(received.subarray(lineEnd + 2, lineEnd + 2 + size))
    at = end
  }
}
