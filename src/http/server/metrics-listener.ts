/** `/metrics` on a listener of its own: for loopback, the configured networks, and clients with the metrics token. */
import { createServer } from '../../system/vendor/node-http.ts'
import type { AddressInfo } from 'node:net'
import type { GatewayConfig } from '../../config/config.ts'
import { parseNetworks } from '../../system/cidr.ts'
import type { Telemetry } from '../../observability/telemetry.ts'
import { isInNetworks, normalizeAddress } from '../request/client-ip.ts'
import { hasBearerToken } from '../../access/bearer.ts'
import { formatHost } from '../../config/site-origin.ts'
import { bind } from './bind.ts'

interface MetricsListener {
  /** As in `http://127.0.0.1:9464/metrics`. */
  readonly url: string
  close(): Promise<void>
}

/** Returns null where no port is configured. @throws ConfigError if it cannot listen */
export async function listenForMetrics(
  { port, host, allow, token }: GatewayConfig['metrics'],
  telemetry: Pick<Telemetry, 'metricsText' | 'metricsType'>,
): Promise<MetricsListener | null> {
  if (port === null) return null
  const allowedNetworks = parseNetworks(['127.0.0.0/8', '::1', ...allow])
  const server = createServer(async (request, response) => {
    const isAllowedPeer = isInNetworks(normalizeAddress(request.socket.remoteAddress ?? ''), allowedNetworks)
    const path = request.url?.split('?', 1)[0]
    const plainText = { 'content-type': 'text/plain; charset=utf-8' }
    if (path !== '/metrics' || request.method !== 'GET' || !(isAllowedPeer || hasBearerToken(request.headers, token))) {
      response.writeHead(404, plainText).end('Only GET /metrics is here, for whom the configuration allows it.\n')
      return
    }
    const text = await telemetry.metricsText()
    response.writeHead(200, { 'content-type': telemetry.metricsType }).end(text)
  })
  await bind(server, { host, port, settingName: 'METRICS_PORT' })
  return {
    url: `http://${formatHost(host)}:${(server.address() as AddressInfo).port}/metrics`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
