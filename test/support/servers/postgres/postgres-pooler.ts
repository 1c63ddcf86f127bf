/** A proxy that looks like a pooler to a client: it reports another session number than the server. It forwards everything else unchanged. */
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { connect, createServer } from 'node:net'
import type { TestScope } from '../../test-scope.ts'

/** The address of `url` through the proxy. */
export async function startPooler(t: TestScope, url: string): Promise<string> {
  const pooled = new URL(url)
  const listener = createServer((client) => {
    const server = connect(Number(new URL(url).port), '127.0.0.1')
    client.pipe(server)
    let isRewritten = false
    server.on('data', (data: Buffer) => {
      // BackendKeyData: K, its length, the number, and the key to cancel with.
      const offset = isRewritten ? -1 : data.indexOf(Buffer.from([0x4b, 0, 0, 0, 12]))
      if (offset >= 0) data.writeInt32BE(1, offset + 5)
      isRewritten ||= offset >= 0
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
