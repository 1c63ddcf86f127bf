/** A proxy that cuts connections between a client and its server after a request is executed and before the answer arrives. */
import { once } from 'node:events'
import type { AddressInfo, Socket } from 'node:net'
import { connect, createServer } from 'node:net'
import { setTimeout as after } from 'node:timers/promises'
import type { TestScope } from '../test-scope.ts'

export class FaultProxy {
  readonly port: number
  readonly #connections = new Set<{ readonly client: Socket; readonly server: Socket; dropsResponses: boolean }>()
  droppedConnections = 0
  /** Refuses new connections and drops all traffic. */
  isBlocked = false
  /** The port of 127.0.0.1 to which new connections go. */
  target: number

  private constructor(port: number, target: number) {
    this.port = port
    this.target = target
  }

  static async start(t: TestScope, target: number): Promise<FaultProxy> {
    const listener = createServer()
    listener.listen(0, '127.0.0.1')
    await once(listener, 'listening')
    const proxy = new FaultProxy((listener.address() as AddressInfo).port, target)
    listener.on('connection', (client) => proxy.#pipe(client, connect(proxy.target, '127.0.0.1')))
    t.teardown(() => {
      listener.close()
      for (const { client, server } of proxy.#connections) for (const socket of [client, server]) socket.destroy()
    })
    return proxy
  }

  /** Drops answers for a moment, then closes the connections. */
  async dropConnections(silentMs: number): Promise<void> {
    const pairs = [...this.#connections]
    for (const pair of pairs) pair.dropsResponses = true
    await after(silentMs)
    for (const { client, server } of pairs) for (const socket of [client, server]) socket.destroy()
    this.droppedConnections += pairs.length
  }

  #pipe(client: Socket, server: Socket): void {
    const pair = { client, server, dropsResponses: false }
    this.#connections.add(pair)
    client.on('data', (data) => !this.isBlocked && server.write(data))
    server.on('data', (data) => !pair.dropsResponses && !this.isBlocked && client.write(data))
    for (const [socket, other] of [
      [client, server],
      [server, client],
    ] as const) {
      socket.on('error', () => undefined)
      socket.on('close', () => {
        other.destroy()
        this.#connections.delete(pair)
      })
    }
  }
}
