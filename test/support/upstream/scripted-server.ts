/** What the scripted model servers of different APIs share: they record requests, and send events with faults between them. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { TestScope } from '../test-scope.ts'

/** Faults of a stream, each after this many events. */
export interface StreamFaults {
  /** Destroys the connection, or ends the response. */
  readonly cutAfter?: number
  readonly endAfter?: number
  /** Between two events. */
  readonly pauseMs?: number
}

export interface ScriptedServer<ReceivedRequest> {
  /** Ends in `/v1`. */
  readonly url: string
  readonly requests: readonly ReceivedRequest[]
  readonly headers: readonly IncomingMessage['headers'][]
  /** Requests that it rejected as invalid. */
  readonly rejected: readonly string[]
}

/** Starts a server that passes each request with its body to `respond`, which adds to the lists. */
export async function startScriptedServer<ReceivedRequest>(
  t: TestScope,
  respond: (
    request: IncomingMessage,
    response: ServerResponse,
    body: string,
    lists: { readonly requests: ReceivedRequest[]; readonly rejected: string[] },
  ) => Promise<void> | void,
): Promise<ScriptedServer<ReceivedRequest>> {
  const requests: ReceivedRequest[] = []
  const headers: IncomingMessage['headers'][] = []
  const rejected: string[] = []
  const receive = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    headers.push(request.headers)
    const pieces: Buffer[] = []
    for await (const piece of request) pieces.push(piece as Buffer)
    await respond(request, response, Buffer.concat(pieces).toString(), { requests, rejected })
  }
  const server = createServer((request, response) => {
    void receive(request, response).catch(() => response.destroy())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`, requests, headers, rejected }
}

/** Sends a JSON body. */
export function sendJson(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))
}

/** Sends the events. Where `failAt` has an event for a position, it is sent in place of the rest. */
export async function sendEvents(
  response: ServerResponse,
  events: readonly object[],
  { cutAfter = Infinity, endAfter = Infinity, pauseMs }: StreamFaults,
  failAt: (position: number) => object | undefined,
): Promise<void> {
  const write = (event: { readonly type?: string }): boolean =>
    response.write(`${event.type === undefined ? '' : `event: ${event.type}\n`}data: ${JSON.stringify(event)}\n\n`)
  response.flushHeaders()
  for (const [i, event] of events.entries()) {
    if (response.destroyed) return
    if (i >= cutAfter) {
      await sleep(20)
      return void response.destroy()
    }
    if (i >= endAfter) break
    const failure = failAt(i)
    write(failure ?? event)
    if (failure !== undefined) break
    if (pauseMs !== undefined) await sleep(pauseMs)
  }
  response.end()
}
