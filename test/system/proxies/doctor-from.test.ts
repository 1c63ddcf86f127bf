/** `doctor --from` through the real proxies: it accepts the shipped files, and names the line of the proxy that is missing. */
import t from 'tap'
import { checkPublicAddress } from '../../../src/operator/commands/public-address/check-public-address.ts'
import { startGateway } from '../../support/gateway/test-gateway.ts'
import type { Overrides } from '../../support/gateway/test-gateway.ts'
import { startApache } from '../../support/proxies/apache.ts'
import { caddyBehindAnotherProxy, caddyOneNode, startCaddy } from '../../support/proxies/caddy.ts'
import { configurations, nodeThatIsDown } from '../../support/proxies/configurations.ts'
import { startEnvoy } from '../../support/proxies/envoy.ts'
import { nginxBehindAnotherProxy, nginxOfAnotherOperator, nginxOneNode, startNginx } from '../../support/proxies/nginx.ts'
import type { ProxyProcess } from '../../support/proxies/proxy-process.ts'
import { createPublicCertificate } from '../../support/proxies/public-certificate.ts'
import type { PublicCertificate } from '../../support/proxies/public-certificate.ts'
import { PublicClient } from '../../support/proxies/public-client.ts'
import { publicHost } from '../../support/proxies/shipped-file.ts'
import { startTraefik } from '../../support/proxies/traefik.ts'
import { startVarnish } from '../../support/proxies/varnish.ts'
import { startLoadBalancer } from '../../support/servers/load-balancer.ts'
import { createTemporaryFolder } from '../../support/temporary-folder.ts'
import type { TestScope } from '../../support/test-scope.ts'

// Most of the time each stream waits.
t.jobs = 8

/** The command has an address of its own; the proxies, which are trusted, have 127.0.0.1. */
const [trusted, operator] = ['127.0.0.1', '127.0.0.2'] as const
const siteUrl = `https://${publicHost}`
/** Above nginx's default of 1 MB, and small enough for many tests. */
const chatBodyBytes = 2 * 1024 * 1024

const config = (parts: Overrides = {}): Overrides => ({
  listen: { trustedProxies: [trusted], siteUrl },
  limits: { chatBodyBytes },
  ...parts,
})

// Gateways that several tests use: starting one takes longer than the checks.
const shipped = await startGateway(t, { listen: { trustedProxies: [trusted], siteUrl } })
const small = await startGateway(t, config())

for (const configuration of configurations) {
  t.test(`accepts the file of ${configuration.name}`, async (t) => {
    // HAProxy's file has no certificate; on loopback that is no fault.
    const hasTls = configuration.forwardedProto !== undefined
    const origin = hasTls ? siteUrl : 'http://127.0.0.1'
    // nginx has a limit of a body by default, so its file is tested with the gateway's own limit.
    const shared = configuration.name.startsWith('nginx') ? shipped : small
    const g = hasTls ? shared : await startGateway(t, config({ listen: { trustedProxies: [trusted], siteUrl: origin } }))
    const proxy = await configuration.start(t, [new URL(g.url).host, nodeThatIsDown])
    if (proxy === undefined) return
    const { connect } = proxy.createClient({ localAddress: operator })
    const findings = await checkPublicAddress(g.config, origin, connect)
    t.same(
      findings.filter(({ ok, detail }) => !ok || detail.includes('missing')),
      [],
    )
    t.same(
      findings.map(({ what }) => what),
      ['public address', 'public scheme', 'public host', 'client address', 'proxy connection', 'public stream', 'body limit'],
    )
    t.match(findings.find(({ what }) => what === 'client address')?.detail, operator)
  })
}

type Edit = (text: string) => string

const remove =
  (line: string): Edit =>
  (text) =>
    change(line, '')(text)

function change(line: string, by: string): Edit {
  return (text) => {
    if (!text.includes(line)) throw new Error(`the file has no ${line}`)
    return text.replaceAll(line, by)
  }
}

interface Fault {
  readonly title: string
  readonly start: (t: TestScope, node: string, certificate: PublicCertificate) => Promise<Pick<ProxyProcess, 'port'> | undefined>
  readonly parts?: Overrides
  readonly what: string
  /** False where the gateway works without the line, which is only mentioned. */
  readonly isFailure?: boolean
  /** The line that the finding names. */
  readonly line: string
  /** Another finding that the same line causes. */
  readonly also?: string
}

const unchanged: Edit = (text) => text

const nginx =
  (edit: Edit): Fault['start'] =>
  (t, node, certificate) => {
    const site = nginxOneNode(node, certificate)
    return startNginx(t, (port) => edit(site(port)))
  }
const nginxBehindNginx =
  (edit: Edit, editOuter: Edit = unchanged): Fault['start'] =>
  async (t, node, certificate) => {
    const site = nginxBehindAnotherProxy(node)
    const inner = await startNginx(t, (port) => edit(site(port)))
    if (inner === undefined) return undefined
    const outerSite = nginxOfAnotherOperator(`127.0.0.1:${inner.port}`, certificate)
    return startNginx(t, (port) => editOuter(outerSite(port)))
  }
const caddy =
  (edit: Edit): Fault['start'] =>
  (t, node, certificate) =>
    startCaddy(t, edit(caddyOneNode(node)), certificate)
const caddyBehindNginx =
  (edit: Edit): Fault['start'] =>
  async (t, node, certificate) => {
    const inner = await startCaddy(t, edit(caddyBehindAnotherProxy(node)))
    return inner && startNginx(t, nginxOfAnotherOperator(`127.0.0.1:${inner.port}`, certificate))
  }
const apache =
  (edit: Edit): Fault['start'] =>
  (t, node, certificate) =>
    startApache(t, node, certificate, edit)

/** Without the node that is down: it counts until its first check, and parallel requests may use up their retries at it. */
const traefik =
  (edit: Edit): Fault['start'] =>
  (t, node, certificate) =>
    startTraefik(t, [node, nodeThatIsDown], certificate, (text) =>
      edit(text).replace(`\n          - url: http://${nodeThatIsDown}`, ''),
    )
const envoy =
  (edit: Edit): Fault['start'] =>
  (t, node, certificate) =>
    startEnvoy(t, [node, nodeThatIsDown], certificate, edit)

const faults: readonly Fault[] = [
  {
    title: 'nginx without X-Forwarded-For',
    start: nginx(remove('proxy_set_header X-Forwarded-For $remote_addr;')),
    what: 'client address',
    line: 'chooses the address that its limit is counted by; missing: nginx: proxy_set_header X-Forwarded-For $remote_addr;',
  },
  {
    title: 'nginx without HTTP/1.1',
    start: nginx(remove('proxy_http_version 1.1;')),
    what: 'proxy connection',
    line: 'nginx: proxy_http_version 1.1;',
  },
  {
    title: 'nginx with its default limit of a body',
    start: nginx(remove('client_max_body_size 20m;')),
    what: 'body limit',
    line: 'does not reach the gateway, which allows it (HTTP 413); missing: nginx: client_max_body_size 4m;',
  },
  {
    title: 'nginx with the same limit of a body as the gateway',
    start: nginx(change('client_max_body_size 20m;', 'client_max_body_size 2m;')),
    what: 'body limit',
    line: 'is refused by a proxy and not by the gateway (HTTP 413), so clients cannot read why; missing: nginx: client_max_body_size 4m;',
  },
  {
    title: 'nginx without Host',
    start: nginx(remove('proxy_set_header Host $host;')),
    what: 'public host',
    line: 'nginx: proxy_set_header Host $host;',
  },
  {
    title: 'nginx without X-Forwarded-Proto',
    start: nginx(remove('proxy_set_header X-Forwarded-Proto $scheme;')),
    what: 'public scheme',
    isFailure: false,
    line: 'nginx: proxy_set_header X-Forwarded-Proto $scheme;',
  },
  {
    title: 'nginx that buffers streams',
    start: nginx(change('proxy_buffering off;', 'proxy_ignore_headers X-Accel-Buffering;')),
    what: 'public stream',
    line: 'nginx: proxy_buffering off;',
  },
  {
    title: 'nginx behind nginx without X-Accel-Buffering',
    start: nginxBehindNginx(remove('proxy_pass_header X-Accel-Buffering;')),
    what: 'public stream',
    line: 'in the inner one: proxy_pass_header X-Accel-Buffering;',
  },
  {
    title: 'nginx behind nginx that passes on what clients write',
    start: nginxBehindNginx(unchanged, remove('proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;')),
    what: 'client address',
    line: 'chooses the address that its limit is counted by; missing: nginx: proxy_set_header X-Forwarded-For $remote_addr;',
  },
  {
    title: 'nginx behind nginx that drops the address of the client',
    start: nginxBehindNginx(change('$proxy_add_x_forwarded_for', '$remote_addr')),
    what: 'client address',
    line: 'nginx: proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;',
  },
  {
    title: 'Caddy behind nginx without trusted_proxies',
    start: caddyBehindNginx(remove('trusted_proxies 127.0.0.1/32')),
    what: 'client address',
    line: 'Caddy: trusted_proxies',
    also: 'public scheme',
  },
  {
    title: 'Caddy that removes X-Forwarded-For',
    start: caddy(change('lb_try_duration 5s', 'lb_try_duration 5s\n\t\theader_up -X-Forwarded-For')),
    what: 'client address',
    line: 'Caddy: no header_up for X-Forwarded-For',
  },
  {
    title: 'Caddy with a limit of a body',
    start: caddy(change('reverse_proxy', 'request_body {\n\t\tmax_size 1MB\n\t}\n\treverse_proxy')),
    what: 'body limit',
    line: 'Caddy: no request_body max_size below 4194304',
  },
  {
    title: 'Apache without X-Forwarded-For',
    start: apache(change('ProxyPreserveHost On', 'ProxyPreserveHost On\n  ProxyAddHeaders Off')),
    what: 'client address',
    line: 'Apache: ProxyAddHeaders On',
  },
  {
    title: 'Apache without the host',
    start: apache(remove('ProxyPreserveHost On')),
    what: 'public host',
    isFailure: false,
    line: 'Apache: ProxyPreserveHost On',
  },
  {
    title: 'Apache without X-Forwarded-Proto',
    start: apache(remove('RequestHeader set X-Forwarded-Proto https')),
    what: 'public scheme',
    isFailure: false,
    line: 'Apache: RequestHeader set X-Forwarded-Proto https',
  },
  {
    title: 'Traefik that trusts what clients write',
    // Only in the first of the two files.
    start: traefik((text) =>
      text.replace(
        '    transport:\n      respondingTimeouts',
        '    forwardedHeaders: { insecure: true, notAppendXForwardedFor: true }\n    transport:\n      respondingTimeouts',
      ),
    ),
    what: 'client address',
    line: 'Traefik: no forwardedHeaders.notAppendXForwardedFor',
  },
  {
    title: 'Traefik that replaces the host',
    start: traefik((text) =>
      text.replace('serversTransport: svc-gateway', 'serversTransport: svc-gateway\n        passHostHeader: false'),
    ),
    what: 'public host',
    isFailure: false,
    line: 'Traefik: passHostHeader: true',
  },
  {
    title: 'Traefik with a limit of a body',
    start: traefik((text) =>
      text.replace('retry: { attempts: 5, initialInterval: 100ms }', 'buffering: { maxRequestBodyBytes: 1000000 }'),
    ),
    what: 'body limit',
    line: 'Traefik: no buffering.maxRequestBodyBytes below 4194304',
    also: 'public stream',
  },
  {
    title: 'Envoy without use_remote_address',
    start: envoy(remove('use_remote_address: true')),
    what: 'client address',
    line: 'Envoy: use_remote_address: true',
    also: 'public scheme',
  },
  {
    title: 'Envoy that replaces the host',
    start: envoy(change('cluster: nodes\n', 'cluster: nodes\n                            host_rewrite_literal: node-1\n')),
    what: 'public host',
    line: 'Envoy: no host_rewrite_literal',
  },
  {
    title: 'a gateway without TRUSTED_PROXIES',
    start: nginx(unchanged),
    parts: { listen: { siteUrl } },
    what: 'client address',
    line: 'set TRUSTED_PROXIES=127.0.0.1',
  },
  {
    title: 'a gateway without SITE_URL',
    start: nginx(unchanged),
    parts: { listen: { trustedProxies: [trusted] } },
    what: 'public host',
    line: `set SITE_URL=${siteUrl}`,
  },
  {
    title: 'a gateway with another SITE_URL',
    start: nginx(unchanged),
    parts: { listen: { trustedProxies: [trusted], siteUrl: 'https://other.example.com' } },
    what: 'public host',
    line: 'links lead to https://other.example.com',
  },
]

for (const { title, start, parts, what, isFailure = true, line, also } of faults) {
  t.test(`reports ${title}`, async (t) => {
    const g = parts === undefined ? small : await startGateway(t, config(parts))
    const certificate = createPublicCertificate(createTemporaryFolder(t))
    const proxy = await start(t, new URL(g.url).host, certificate)
    if (proxy === undefined) return
    const { connect } = new PublicClient(t, { port: proxy.port, ca: certificate.ca, localAddress: operator })
    const findings = await checkPublicAddress(g.config, siteUrl, connect)
    const finding = findings.find((one) => one.what === what)
    t.equal(finding?.ok, !isFailure, finding?.detail ?? 'no finding')
    t.ok(finding?.detail.includes(line), finding?.detail ?? 'no finding')
    t.same(
      findings.filter((one) => one.what !== what && one.what !== also && !one.ok),
      [],
      'nothing else is reported',
    )
    t.equal(g.demo.stats().requests, 0, 'the upstream is not called')
  })
}

t.test('reports Varnish that removes X-Forwarded-For', async (t) => {
  const origin = 'http://127.0.0.1'
  const g = await startGateway(t, config({ listen: { trustedProxies: [trusted], siteUrl: origin } }))
  const line = 'set req.http.X-Forwarded-For = client.ip;'
  const proxy = await startVarnish(t, new URL(g.url).host, change(line, 'unset req.http.X-Forwarded-For;'))
  if (proxy === undefined) return
  const { connect } = new PublicClient(t, { port: proxy.port, localAddress: operator })
  const failed = (await checkPublicAddress(g.config, origin, connect)).filter(({ ok }) => !ok)
  t.same(
    failed.map(({ what }) => what),
    ['client address'],
  )
  t.ok(failed[0]?.detail.includes(`missing: Varnish: ${line}`), failed[0]?.detail ?? 'no finding')
})

t.test('reports all that a bare nginx lacks', async (t) => {
  const origin = `http://${publicHost}`
  const g = await startGateway(t, config({ listen: { trustedProxies: [trusted], siteUrl: origin } }))
  const proxy = await startNginx(
    t,
    (port) => `server { listen 127.0.0.1:${port}; location / { proxy_pass http://${new URL(g.url).host}; } }`,
  )
  if (proxy === undefined) return
  const { connect } = new PublicClient(t, { port: proxy.port, localAddress: operator })
  const findings = await checkPublicAddress(g.config, origin, connect)
  t.same(
    findings.filter(({ ok }) => !ok).map(({ what }) => what),
    ['public scheme', 'client address', 'proxy connection', 'body limit'],
  )
  t.match(findings.find(({ what }) => what === 'public host')?.detail, 'nginx: proxy_set_header Host $host;')
})

for (const [title, trustedProxies, localAddress, detail] of [
  ['a trusted HAProxy', [trusted], operator, 'HAProxy: option forwardfor'],
  ['an unknown HAProxy on the same machine', [], trusted, 'set TRUSTED_PROXIES=127.0.0.1; before that, missing: '],
] as const) {
  t.test(`reports ${title} without option forwardfor`, async (t) => {
    const origin = 'http://127.0.0.1'
    const g = await startGateway(t, config({ listen: { trustedProxies: [...trustedProxies], siteUrl: origin } }))
    const balancer = await startLoadBalancer(t, [new URL(g.url).host], remove('option forwardfor'))
    if (balancer === undefined) return
    const { connect } = new PublicClient(t, { port: Number(new URL(balancer.url).port), localAddress })
    const failed = (await checkPublicAddress(g.config, origin, connect)).filter(({ ok }) => !ok)
    t.same(
      failed.map(({ what }) => what),
      ['client address'],
    )
    t.ok(failed[0]?.detail.includes(detail), failed[0]?.detail ?? 'no finding')
    t.match(failed[0]?.detail, 'HAProxy: option forwardfor')
  })
}
