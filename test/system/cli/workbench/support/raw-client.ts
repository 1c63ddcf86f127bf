/** A client that sends exactly the bytes it is given, valid or not. */
import type { Socket } from 'node:net'
import { connect } from 'node:net'
import type { Test } from 'tap'
import { protocolRange } from '../../../../../src/cli/workbench/protocol/protocol.ts'
import type { TestWorkbench } from './test-workbench.ts'
import { waitUntil } from '../../../../support/wait-until.ts'

interface Line {
  readonly id?: unknown
  readonly method?: string
  readonly params?: { readonly subscriptionId: string; readonly event: { readonly seq: number; readonly name: string } }
  readonly result?: unknown
  readonly error?: {
    readonly code: number
    readonly message: string
    readonly data: { readonly code: string; readonly details?: unknown; readonly hint?: string }
  }
}

export class RawClient {
  readonly socket: Socket
  readonly lines: Line[] = []
  closed = false
  #rest = ''

  constructor(t: Test, path: string) {
    this.socket = connect(path)
    this.socket.setEncoding('utf8').on('data', (text: string) => {
      const lines = (this.#rest + text).split('\n')
      this.#rest = lines.pop() ?? ''
      for (const line of lines) this.lines.push(JSON.parse(line) as Line)
    })
    this.socket.on('error', () => undefined)
    this.socket.on('close', () => {
      this.closed = true
    })
    t.teardown(() => this.socket.destroy())
  }

  write(bytes: string | Buffer): void {
    this.socket.write(bytes)
  }

  send(message: unknown): void {
    this.write(`${JSON.stringify(message)}\n`)
  }

  /** Sends and waits for the answer with the same id. */
  async ask(id: number | string, method: string, params?: unknown): Promise<Line> {
    this.send({ jsonrpc: '2.0', id, method, ...(params === undefined ? {} : { params }) })
    return waitUntil(() => this.lines.find((line) => line.id === id), `the answer ${id} to ${method}`)
  }

  async greet(bench: TestWorkbench): Promise<Line> {
    return this.ask('hello', 'system.hello', createHello(bench))
  }

  async waitUntilClosed(): Promise<void> {
    await waitUntil(() => this.closed, 'the connection is closed')
  }

  lastError(): string | undefined {
    return this.lines.findLast((line) => line.error !== undefined)?.error?.data.code
  }
}

export function createHello(
  bench: TestWorkbench,
  changes: Readonly<Record<string, unknown>> = {},
): Readonly<Record<string, unknown>> {
  return { protocol: protocolRange, token: bench.token, client: { name: 'test', version: '1' }, ...changes }
}
