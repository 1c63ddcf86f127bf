/** As far as a client can tell, a pooler: it says another number for a session than the server. All else passes as it is. */
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { connect, createServer } from 'node:net'
import type { Scope } from './scope.ts'

/** The address of `url` behind it. */
export async function behindPooler(t: Scope, url: string): Promise<string> {
  const pooled = new URL(url)
  const listener = createServer((client) => {
    const server = connect(Number(new URL(url).port), '127.0.0.1')
    client.pipe(server)
    let isKnown = false
    server.on('data', (data: Buffer) => {
      // BackendKeyData: K, its length, the number, and the key to cancel with.
      const at = isKnown ? -1 : data.indexOf(Buffer.from([0x4b, 0, 0, 0, 12]))
      if (at >= 0) data.writeInt32BE(1, at + 5)
      isKnown ||= at >= 0
      client.write(data)
    })
    for (const [socket, other] of [[client, server] as const, [server, client] as const]) {
      socket.on('error', () => undefined)
      socket.on('close', () => other.destroy())
    }
  })
  listener.listen(0, '127.0.0.1')
  await once(listener, 'listening')
  t.teardown(() => void listener.close())
  pooled.port = String((listener.address() as AddressInfo).port)
  return pooled.href
}
