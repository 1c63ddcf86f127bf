/** A reply on its way: at its pace, in its pieces, and with the faults of a connection that a script asks for. */
import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { STATUS_CODES } from '../../system/node-http.ts'
import type { Socket } from 'node:net'
import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises'
import type { Reply } from './reply.ts'
import type { Script } from './script.ts'

/** Told what has been handed to the connection, before it is known whether the peer reads it. */
export type OnSent = (sent: { readonly tokens: number; readonly event: boolean }) => void

/**
 * Puts a reply on the connection as its script says: in time, in pieces, up to the byte where it breaks. Resolves when all
 * of it (or of its fault) was sent; rejects with the signal's reason when the peer leaves first.
 */
export async function send(
  res: ServerResponse,
  reply: Reply,
  script: Script,
  signal: AbortSignal,
  onSent: OnSent,
): Promise<void> {
  const wire = needsRawBytes(script) ? new RawWire(res, script, signal) : new PlainWire(res, script, signal)
  if (script.headMs !== undefined) await pause(script.headMs, undefined, { signal })
  if (script.hang === 'before_headers') await silence(signal)
  await wire.head(reply)
  if (script.hang === 'after_headers') await silence(signal)

  let events = 0
  const end = script.reset ?? script.cut
  const breaksAfter = end !== undefined && 'afterEvents' in end ? end.afterEvents : null
  const hangsAfter = typeof script.hang === 'object' ? script.hang.afterEvents : null
  for (const { bytes, waitMs, tokens, event } of reply.parts) {
    if (events === breaksAfter) return wire.break()
    if (events === hangsAfter) await silence(signal)
    if (waitMs > 0) await pause(waitMs, undefined, { signal })
    onSent({ tokens, event })
    if ((await wire.write(bytes)) === 'broken') return
    if (event) events++
  }
  if (breaksAfter !== null) return wire.break()
  if (hangsAfter !== null) await silence(signal)
  await wire.end()
}

type Written = 'written' | 'broken'

/** Through Node's own response: kept alive, and as fast as it gets. */
class PlainWire {
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

  async write(bytes: Buffer): Promise<Written> {
    if (!this.#res.write(bytes)) await once(this.#res, 'drain', { signal: this.#signal })
    return 'written'
  }

  async break(): Promise<void> {
    if (this.#res.socket !== null) await breakOff(this.#res.socket, this.#script)
  }

  async end(): Promise<void> {
    this.#res.end()
  }
}

/** Writes every byte itself, head and chunk framing included, so that it can be cut at any of them. */
class RawWire {
  readonly #socket: Socket
  readonly #script: Script
  readonly #signal: AbortSignal
  #chunked = true
  /** Bytes left until it breaks. */
  #left: number

  constructor(res: ServerResponse, script: Script, signal: AbortSignal) {
    if (res.socket === null) throw new Error('the connection is gone')
    this.#socket = res.socket
    this.#socket.setNoDelay(true)
    this.#script = script
    this.#signal = signal
    const end = script.reset ?? script.cut
    this.#left = end !== undefined && 'afterBytes' in end ? end.afterBytes : Number.POSITIVE_INFINITY
  }

  async head({ status, headers }: Reply): Promise<void> {
    this.#chunked = headers['content-length'] === undefined
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
    const framing = this.#chunked ? 'transfer-encoding: chunked\r\n' : ''
    // Node knows nothing of these bytes, so the connection cannot be used again.
    const text = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? 'Unknown'}\r\n${lines.join('')}${framing}connection: close\r\n\r\n`
    await this.#put(Buffer.from(text))
  }

  async write(bytes: Buffer): Promise<Written> {
    return this.#put(this.#chunked ? Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, crlf]) : bytes)
  }

  async end(): Promise<void> {
    if (this.#chunked && (await this.#put(Buffer.from('0\r\n\r\n'))) === 'broken') return
    this.#socket.end()
  }

  async break(): Promise<void> {
    await breakOff(this.#socket, this.#script)
  }

  async #put(bytes: Buffer): Promise<Written> {
    const size = this.#script.drip?.bytes ?? this.#script.split ?? bytes.length
    for (let at = 0; at < bytes.length || this.#left === 0; at += size) {
      if (this.#left > 0) await this.#flush(bytes.subarray(at, Math.min(at + size, at + this.#left)))
      this.#left -= Math.min(size, this.#left)
      if (this.#left === 0) {
        await this.break()
        return 'broken'
      }
      if (this.#script.drip !== undefined) await pause(this.#script.drip.everyMs, undefined, { signal: this.#signal })
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

async function breakOff(socket: Socket, { reset }: Script): Promise<void> {
  // What was written before is handed to the kernel first.
  await nextTurn()
  if (reset === undefined) socket.destroy()
  else socket.resetAndDestroy()
}

/** Never resolves; rejects when the peer leaves. */
function silence(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason)
    else signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  })
}
