/** A gateway behind the shipped Caddy with TLS, for browsers. Its host is `localhost`, the only name that each engine resolves by itself. */
import type { Test } from 'tap'
import { findFreePort } from '../free-port.ts'
import { startGateway } from '../gateway/test-gateway.ts'
import type { TestGateway } from '../gateway/test-gateway.ts'
import { caddyOneNode, startCaddy } from '../proxies/caddy.ts'
import { createPublicCertificate } from '../proxies/public-certificate.ts'
import { createTemporaryFolder } from '../temporary-folder.ts'

export interface HttpsGateway {
  readonly gateway: TestGateway
  /** Where browsers open it, with a certificate that they must be told to accept. */
  readonly site: string
}

/** Undefined where Caddy is not installed: the test has then reported it. */
export async function startHttpsGateway(t: Test): Promise<HttpsGateway | undefined> {
  const host = 'localhost'
  const port = await findFreePort()
  const caddyfile = caddyOneNode(`127.0.0.1:${port}`, host)
  const proxy = await startCaddy(t, caddyfile, createPublicCertificate(createTemporaryFolder(t), host))
  if (proxy === undefined) return undefined
  const site = `https://${host}:${proxy.port}`
  const listen = { port, siteUrl: site, baseUrl: site, trustedProxies: ['127.0.0.1'] }
  return { gateway: await startGateway(t, { listen }), site }
}
