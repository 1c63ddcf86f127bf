/** Sends a reply at its pace, in its pieces, and with the connection faults that a script requests. */
import type { Clock } from '../../../src/system/clock.ts'
import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { STATUS_CODES } from '../../../src/system/vendor/node-http.ts'
import type { Socket } from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Reply } from './reply.ts'
import type { Script } from './script.ts'

interface SendOptions {
  /** Aborted when the client disconnects. */
  readonly signal: AbortSignal
  readonly clock: Clock
  /** Receives what was written to the connection, before it is known whether the client reads it. */
  readonly onSent: (sent: { readonly tokens: number; readonly event: boolean }) => void
}

/**
 * Sends a reply as its script specifies: pauses, pieces, and the byte at which it breaks. Resolves when all of it (or of its fault) was
 * sent; rejects with the signal's reason if the client disconnects first.
 */
export async function send(
  res: ServerResponse,
  reply: Reply,
  script: Script,
  { signal, clock, onSent }: SendOptions,
): Promise<void> {
  const writer = needsRawBytes(script) ? new RawWriter(res, script, { signal, clock }) : new PlainWriter(res, script, signal)
  if (script.headMs !== undefined) await clock.wait(script.headMs, signal)
  if (script.hang === 'before_headers') await hangUntilAborted(signal)
  await writer.head(reply)
  if (script.hang === 'after_headers') await hangUntilAborted(signal)

  let events = 0
  const end = script.reset ?? script.cut
  const breaksAfter = end !== undefined && 'afterEvents' in end ? end.afterEvents : null
  const hangsAfter = typeof script.hang === 'object' ? script.hang.afterEvents : null
  for (const { bytes, waitMs, tokens, event } of reply.parts) {
    if (events === breaksAfter) return writer.break()
    if (events === hangsAfter) await hangUntilAborted(signal)
    if (waitMs > 0) await clock.wait(waitMs, signal)
    onSent({ tokens, event })
    if ((await writer.write(bytes)) === 'broken') return
    if (event) events++
  }
  if (breaksAfter !== null) return writer.break()
  if (hangsAfter !== null) await hangUntilAborted(signal)
  await writer.end()
}

type WriteResult = 'written' | 'broken'

/** Uses Node's response: keep-alive, and as fast as possible. */
class PlainWriter {
  readonly #res: ServerResponse
  readonly #script: Script
  readonly #signal: AbortSignal

  constructor(res: ServerResponse, script: Script, signal: AbortSignal) {
    this.#res = res
    this.#script = script
    this.#signal = signal
  }

  async head({ status, headers }: Reply): Promise<void> {
    this.#res.writeHead(status, headers)
    this.#res.flushHeaders()
  }

  async write(bytes: Buffer): Promise<WriteResult> {
    if (!this.#res.write(bytes)) await once(this.#res, 'drain', { signal: this.#signal })
    return 'written'
  }

  async break(): Promise<void> {
    if (this.#res.socket !== null) await breakConnection(this.#res.socket, this.#script)
  }

  async end(): Promise<void> {
    this.#res.end()
  }
}

/** Writes every byte itself, including head and chunk framing, so that it can break at any byte. */
class RawWriter {
  readonly #socket: Socket
  readonly #script: Script
  readonly #signal: AbortSignal
  readonly #clock: Clock
  #chunked = true
  /** Bytes left until it breaks. */
  #remainingBytes: number

  constructor(res: ServerResponse, script: Script, { signal, clock }: Pick<SendOptions, 'signal' | 'clock'>) {
    if (res.socket === null) throw new Error('the connection is gone')
    this.#socket = res.socket
    this.#socket.setNoDelay(true)
    this.#script = script
    this.#signal = signal
    this.#clock = clock
    const end = script.reset ?? script.cut
    this.#remainingBytes = end !== undefined && 'afterBytes' in end ? end.afterBytes : Number.POSITIVE_INFINITY
  }

  async head({ status, headers }: Reply): Promise<void> {
    this.#chunked = headers['content-length'] === undefined
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
    const framing = this.#chunked ? 'transfer-encoding: chunked\r\n' : ''
    // Node has no record of these bytes, so the connection cannot be reused.
    const text = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? 'Unknown'}\r\n${lines.join('')}${framing}connection: close\r\n\r\n`
    await this.#put(Buffer.from(text))
  }

  async write(bytes: Buffer): Promise<WriteResult> {
    return this.#put(this.#chunked ? Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, crlf]) : bytes)
  }

  async end(): Promise<void> {
    if (this.#chunked && (await this.#put(Buffer.from('0\r\n\r\n'))) === 'broken') return
    this.#socket.end()
  }

  async break(): Promise<void> {
    await breakConnection(this.#socket, this.#script)
  }

  async #put(bytes: Buffer): Promise<WriteResult> {
    const size = this.#script.drip?.bytes ?? this.#script.split ?? bytes.length
    for (let at = 0; at < bytes.length || this.#remainingBytes === 0; at += size) {
      if (this.#remainingBytes > 0) await this.#flush(bytes.subarray(at, Math.min(at + size, at + this.#remainingBytes)))
      this.#remainingBytes -= Math.min(size, this.#remainingBytes)
      if (this.#remainingBytes === 0) {
        await this.break()
        return 'broken'
      }
      if (this.#script.drip !== undefined) await this.#clock.wait(this.#script.drip.everyMs, this.#signal)
      else if (this.#script.split !== undefined) await nextTurn(undefined, { signal: this.#signal })
    }
    return 'written'
  }

  async #flush(bytes: Buffer): Promise<void> {
    this.#signal.throwIfAborted()
    await new Promise<void>((resolve, reject) =>
      this.#socket.write(bytes, (error) => (error == null ? resolve() : reject(error))),
    )
  }
}

const crlf = Buffer.from('\r\n')

function needsRawBytes({ reset, cut, split, drip }: Script): boolean {
  const end = reset ?? cut
  return (end !== undefined && 'afterBytes' in end) || split !== undefined || drip !== undefined
}

async function breakConnection(socket: Socket, { reset }: Script): Promise<void> {
  // Hands earlier writes to the kernel first.
  await nextTurn()
  if (reset === undefined) socket.destroy()
  else socket.resetAndDestroy()
}

/** Never resolves; rejects when the client disconnects. */
function hangUntilAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason)
    else signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  })
}
