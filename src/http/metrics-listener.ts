/** `/metrics` on a listener of its own, away from the public one: for loopback, named networks, and the token's bearer. */
import { createServer } from '../system/node-http.ts'
import type { AddressInfo } from 'node:net'
import type { GatewayConfig } from '../config/config.ts'
import { networks } from '../access/networks.ts'
import type { Observe } from '../system/observe/observe.ts'
import { clientAddress, isTrusted } from './address.ts'
import { hasToken } from './bearer.ts'
import { bind, shownHost } from './bind.ts'

export interface MetricsListener {
  /** As in `http://127.0.0.1:9464/metrics`. */
  readonly url: string
  close(): Promise<void>
}

/** @throws ConfigError where it cannot listen; null where none is wanted */
export async function listenForMetrics(
  { port, host, allow, token }: GatewayConfig['metrics'],
  observe: Pick<Observe, 'metricsText' | 'metricsType'>,
): Promise<MetricsListener | null> {
  if (port === null) return null
  const allowed = networks(['127.0.0.0/8', '::1', ...allow])
  const nobody = networks([])
  const server = createServer(async (request, response) => {
    const known = isTrusted(clientAddress(request.socket.remoteAddress, undefined, nobody), allowed)
    const path = request.url?.split('?', 1)[0]
    const plain = { 'content-type': 'text/plain; charset=utf-8' }
    if (path !== '/metrics' || request.method !== 'GET' || !(known || hasToken(request.headers, token))) {
      response.writeHead(404, plain).end('Only GET /metrics is here, for whom the configuration allows it.\n')
      return
    }
    const text = await observe.metricsText()
    response.writeHead(200, { 'content-type': observe.metricsType }).end(text)
  })
  await bind(server, { host, port, names: 'METRICS_PORT' })
  return {
    url: `http://${shownHost(host)}:${(server.address() as AddressInfo).port}/metrics`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
