/** Every proxy configuration in `deploy/`, with a function that starts it in front of a test's nodes. */
import { startLoadBalancer } from '../servers/load-balancer.ts'
import type { TestScope } from '../test-scope.ts'
import { createTemporaryFolder } from '../temporary-folder.ts'
import { startApache } from './apache.ts'
import { caddyBehindAnotherProxy, caddyOneNode, caddySeveralNodes, startCaddy } from './caddy.ts'
import { startEnvoy } from './envoy.ts'
import { nginxBehindAnotherProxy, nginxOfAnotherOperator, nginxOneNode, nginxSeveralNodes, startNginx } from './nginx.ts'
import type { ProxyProcess } from './proxy-process.ts'
import type { PublicCertificate } from './public-certificate.ts'
import { createPublicCertificate } from './public-certificate.ts'
import { PublicClient } from './public-client.ts'
import type { PublicClientOptions } from './public-client.ts'
import { startTraefik } from './traefik.ts'
import { startVarnish } from './varnish.ts'

export interface PublicAddress {
  readonly port: number
  readonly log: () => string
  createClient(options?: Pick<PublicClientOptions, 'localAddress' | 'http2'>): PublicClient
}

export interface ProxyConfiguration {
  readonly name: string
  /** What the proxy reports in X-Forwarded-Proto to the gateway. */
  readonly forwardedProto: 'https' | undefined
  /** Undefined where a program is not installed: the test has then reported it. */
  start(t: TestScope, nodes: readonly [string, string]): Promise<PublicAddress | undefined>
}

/** A port on which nothing listens: the second node is down where a test has one gateway. */
export const nodeThatIsDown = '127.0.0.1:1'

export const configurations: readonly ProxyConfiguration[] = [
  withTls('nginx, one node', (t, [node], certificate) => startNginx(t, nginxOneNode(node, certificate))),
  withTls('nginx, several nodes', (t, nodes, certificate) => startNginx(t, nginxSeveralNodes(nodes, certificate))),
  withTls('nginx, behind another nginx', async (t, [node], certificate) => {
    const inner = await startNginx(t, nginxBehindAnotherProxy(node))
    return inner && startNginx(t, nginxOfAnotherOperator(`127.0.0.1:${inner.port}`, certificate))
  }),
  withTls('Caddy, one node', (t, [node], certificate) => startCaddy(t, caddyOneNode(node), certificate)),
  withTls('Caddy, several nodes', (t, nodes, certificate) => startCaddy(t, caddySeveralNodes(nodes), certificate)),
  withTls('Caddy, behind another nginx', async (t, [node], certificate) => {
    const inner = await startCaddy(t, caddyBehindAnotherProxy(node))
    return inner && startNginx(t, nginxOfAnotherOperator(`127.0.0.1:${inner.port}`, certificate))
  }),
  withTls('Apache, one node', (t, [node], certificate) => startApache(t, node, certificate)),
  withTls('Traefik, several nodes', (t, nodes, certificate) => startTraefik(t, nodes, certificate)),
  withTls('Envoy, several nodes', (t, nodes, certificate) => startEnvoy(t, nodes, certificate)),
  {
    name: 'HAProxy, several nodes',
    forwardedProto: undefined,
    async start(t, nodes) {
      const balancer = await startLoadBalancer(t, nodes)
      return balancer && addressOf(t, { port: Number(new URL(balancer.url).port), log: balancer.log })
    },
  },
  {
    name: 'Varnish, one node',
    forwardedProto: undefined,
    async start(t, [node]) {
      const proxy = await startVarnish(t, node)
      return proxy && addressOf(t, proxy)
    },
  },
]

export function findConfiguration(name: string): ProxyConfiguration {
  const found = configurations.find((configuration) => configuration.name === name)
  if (found === undefined) throw new Error(`there is no configuration ${name}`)
  return found
}

type Start = (t: TestScope, nodes: readonly [string, string], certificate: PublicCertificate) => Promise<ProxyProcess | undefined>

function withTls(name: string, start: Start): ProxyConfiguration {
  return {
    name,
    forwardedProto: 'https',
    async start(t, nodes) {
      const certificate = createPublicCertificate(createTemporaryFolder(t))
      const proxy = await start(t, nodes, certificate)
      return proxy && addressOf(t, proxy, certificate.ca)
    },
  }
}

function addressOf(t: TestScope, { port, log }: ProxyProcess, ca?: string): PublicAddress {
  return { port, log, createClient: (options = {}) => new PublicClient(t, { port, ca, ...options }) }
}
