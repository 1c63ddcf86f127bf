/** Stands between a client and its server, and cuts their connections: after what was asked has been done, and before the answer is heard. */
import { once } from 'node:events'
import type { AddressInfo, Socket } from 'node:net'
import { connect, createServer } from 'node:net'
import { setTimeout as after } from 'node:timers/promises'
import type { Scope } from './scope.ts'

export class CuttingProxy {
  readonly port: number
  readonly #pairs = new Set<{ readonly client: Socket; readonly server: Socket; isDeaf: boolean }>()
  cuts = 0
  /** Lets nobody in, and nothing through. */
  isShut = false

  private constructor(port: number) {
    this.port = port
  }

  static async before(t: Scope, target: number): Promise<CuttingProxy> {
    const listener = createServer()
    listener.listen(0, '127.0.0.1')
    await once(listener, 'listening')
    const proxy = new CuttingProxy((listener.address() as AddressInfo).port)
    listener.on('connection', (client) => proxy.#join(client, connect(target, '127.0.0.1')))
    t.teardown(() => {
      listener.close()
      for (const { client, server } of proxy.#pairs) for (const socket of [client, server]) socket.destroy()
    })
    return proxy
  }

  /** Answers are swallowed for a moment, then the connections are gone. */
  async cut(deafMs: number): Promise<void> {
    const pairs = [...this.#pairs]
    for (const pair of pairs) pair.isDeaf = true
    await after(deafMs)
    for (const { client, server } of pairs) for (const socket of [client, server]) socket.destroy()
    this.cuts += pairs.length
  }

  #join(client: Socket, server: Socket): void {
    const pair = { client, server, isDeaf: false }
    this.#pairs.add(pair)
    client.on('data', (data) => !this.isShut && server.write(data))
    server.on('data', (data) => !pair.isDeaf && !this.isShut && client.write(data))
    for (const [socket, other] of [
      [client, server],
      [server, client],
    ] as const) {
      socket.on('error', () => undefined)
      socket.on('close', () => {
        other.destroy()
        this.#pairs.delete(pair)
      })
    }
  }
}
