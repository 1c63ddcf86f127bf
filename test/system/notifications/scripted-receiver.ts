/** An HTTP server that receives notifications and behaves as a script says. */
import { createServer } from 'node:http'
import type { IncomingHttpHeaders, Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Test } from 'tap'

export interface ReceivedRequest {
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

/**
 * `lost`: the request is taken, and the connection ends without an answer. `held`: the answer waits until the next request or `release`.
 * A number or object: the answer's status, headers and body.
 */
export type Behavior =
  | 'lost'
  | 'held'
  | number
  | { readonly status: number; readonly headers?: Record<string, string>; readonly body?: string }

export class ScriptedReceiver {
  /** Taken requests, in order. */
  readonly taken: ReceivedRequest[] = []
  /** Requests that were taken and whose answer did not leave. */
  readonly lost: ReceivedRequest[] = []
  /** All requests whose body arrived. */
  count = 0
  behave: (request: ReceivedRequest, count: number) => Behavior = () => 200
  #server: Server | null = null
  #port = 0
  #held: (() => void)[] = []

  static async start(t: Test): Promise<ScriptedReceiver> {
    const receiver = new ScriptedReceiver()
    await receiver.start()
    t.teardown(() => receiver.stop())
    return receiver
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`
  }

  /** On the same port as before. */
  async start(): Promise<void> {
    const server = createServer((request, response) => {
      const chunks: Buffer[] = []
      request.on('data', (chunk: Buffer) => void chunks.push(chunk))
      request.on('error', () => undefined)
      request.on('end', () => {
        const received = { path: request.url ?? '', headers: request.headers, body: Buffer.concat(chunks).toString('utf8') }
        this.count += 1
        const behavior = this.behave(received, this.count)
        const answer = typeof behavior === 'number' ? { status: behavior } : behavior
        const isTaken = typeof answer === 'string' || (answer.status >= 200 && answer.status <= 299)
        if (isTaken) this.taken.push(received)
        this.release()
        const end = ({ status, headers = {}, body = '' }: Exclude<Behavior, string | number>): void => {
          response.writeHead(status, headers)
          response.end(body)
        }
        if (isTaken) response.on('close', () => void (response.writableFinished || this.lost.push(received)))
        if (answer === 'lost') request.socket.destroy()
        else if (answer === 'held') this.#held.push(() => end({ status: 200 }))
        else end(answer)
      })
    })
    await new Promise<void>((resolve, reject) => server.once('error', reject).listen(this.#port, '127.0.0.1', resolve))
    this.#port = (server.address() as AddressInfo).port
    this.#server = server
  }

  /** Answers the requests that are held. */
  release(): void {
    for (const answer of this.#held.splice(0)) answer()
  }

  /** Ends all connections. */
  async stop(): Promise<void> {
    const server = this.#server
    if (server === null) return
    this.#server = null
    this.#held = []
    const closed = new Promise((resolve) => server.close(resolve))
    server.closeAllConnections()
    await closed
  }
}
