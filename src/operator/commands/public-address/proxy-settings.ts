/** Settings of proxies that the gateway needs, as the lines that an operator writes. `docs/proxies.md` has the reasons. */
import type { HttpHeaders, Report } from './diagnostics-client.ts'

type Proxy = 'nginx' | 'Caddy' | 'Apache' | 'HAProxy' | 'Varnish' | 'Traefik' | 'Envoy'

/** Lines by proxy. A proxy without a line has the setting by default and none that breaks it. */
type Setting = Readonly<Partial<Record<Proxy, string>>>

export const settings = {
  clientAddress: {
    nginx: 'proxy_set_header X-Forwarded-For $remote_addr; (behind another proxy: $proxy_add_x_forwarded_for)',
    Caddy: 'no header_up for X-Forwarded-For, which it sets by default',
    Apache: 'ProxyAddHeaders On and RequestHeader unset X-Forwarded-For',
    HAProxy: 'option forwardfor',
    Varnish: 'set req.http.X-Forwarded-For = client.ip; and ,PROXY in the -a of varnishd where TLS ends before it',
    Traefik: 'no forwardedHeaders.notAppendXForwardedFor in the entry point',
    Envoy: 'use_remote_address: true',
  },
  clientAddressBehindProxy: {
    nginx: 'proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;',
    Caddy: 'trusted_proxies with the address of the proxy before it',
    Apache: 'no RequestHeader unset X-Forwarded-For',
    HAProxy: 'option forwardfor',
    Varnish: 'no set or unset of req.http.X-Forwarded-For',
    Traefik: 'forwardedHeaders.trustedIPs in the entry point, with the address of the proxy before it',
    Envoy: 'use_remote_address: true and xff_num_trusted_hops: 1',
  },
  host: {
    nginx: 'proxy_set_header Host $host; (where the address has a port: $http_host)',
    Caddy: 'no header_up for Host',
    Apache: 'ProxyPreserveHost On',
    HAProxy: 'no http-request set-header Host',
    Varnish: 'no set req.http.Host',
    Traefik: 'passHostHeader: true, the default',
    Envoy: 'no host_rewrite_literal and no auto_host_rewrite',
  },
  scheme: {
    nginx: 'proxy_set_header X-Forwarded-Proto $scheme; (behind another proxy: $http_x_forwarded_proto)',
    Caddy: 'no header_up for X-Forwarded-Proto (behind another proxy: trusted_proxies)',
    Apache: 'RequestHeader set X-Forwarded-Proto https',
    HAProxy: 'http-request set-header X-Forwarded-Proto https if { ssl_fc }',
    Varnish: 'set req.http.X-Forwarded-Proto = "https"; where TLS ends before it',
    Traefik: 'no customRequestHeaders for X-Forwarded-Proto (behind another proxy: forwardedHeaders.trustedIPs)',
    Envoy: 'use_remote_address: true (behind another proxy: xff_num_trusted_hops: 1)',
  },
  httpVersion: { nginx: 'proxy_http_version 1.1;' },
  stream: {
    nginx: 'proxy_buffering off; (with two nginx in a row instead, in the inner one: proxy_pass_header X-Accel-Buffering;)',
    Caddy: 'flush_interval -1',
    Apache: 'flushpackets=on in ProxyPass',
    Varnish: 'no set beresp.do_stream = false;',
    Traefik: 'no buffering and no compress middleware',
    Envoy: 'no envoy.filters.http.buffer, and no compressor for text/event-stream',
  },
} as const satisfies Readonly<Record<string, Setting>>

/** @param bytes what the proxies must let through */
export function createBodyLimitSetting(bytes: number): Setting {
  return {
    nginx: `client_max_body_size ${Math.ceil(bytes / 1024 / 1024)}m;`,
    Caddy: `no request_body max_size below ${bytes}`,
    Traefik: `no buffering.maxRequestBodyBytes below ${bytes}`,
    Envoy: `no max_request_bytes of envoy.filters.http.buffer below ${bytes}`,
  }
}

/** The line of each proxy that may be in between; of all proxies where none was recognized. */
export function describeSetting(setting: Setting, recognized: ReadonlySet<Proxy>): string {
  const lines = Object.entries(setting) as [Proxy, string][]
  const those = lines.filter(([proxy]) => recognized.has(proxy))
  return (those.length > 0 ? those : lines).map(([proxy, line]) => `${proxy}: ${line}`).join(' | ')
}

/** Recognizes proxies by the headers that they add by default. HAProxy adds none, and an outer proxy may replace those of an inner one. */
export function recognizeProxies(report: Report | null, headers: HttpHeaders): ReadonlySet<Proxy> {
  const signs = [headers['server'], headers['via'], report?.via].join(' ')
  const foundProxies = new Set<Proxy>()
  if (/nginx|openresty/i.test(signs) || report?.httpVersion === '1.0') foundProxies.add('nginx')
  if (/caddy/i.test(signs)) foundProxies.add('Caddy')
  if (/varnish/i.test(signs)) foundProxies.add('Varnish')
  if (/envoy/i.test(signs)) foundProxies.add('Envoy')
  // Apache, Caddy and Traefik add X-Forwarded-Host; Apache and Traefik X-Forwarded-Server, and only Traefik X-Forwarded-Port.
  const hasServer = (report?.forwardedServer ?? null) !== null
  if (hasServer && (report?.forwardedPort ?? null) !== null) foundProxies.add('Traefik')
  else if (/apache/i.test(signs) || hasServer) foundProxies.add('Apache')
  else if ((report?.forwardedHost ?? null) !== null) foundProxies.add('Caddy')
  return foundProxies
}
