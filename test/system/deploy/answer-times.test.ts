/** The proxies of `deploy/` wait for an answer longer than the gateway does: for a silence, and for the whole turn. */
import { readFileSync } from 'node:fs'
import t from 'tap'
import base from '../../../gateway.config.ts'
import { checkConfig } from '../../../src/config/config.ts'

/** The times of a proxy that end an answer. Caddy and Traefik have none by default. */
const waits: Readonly<Record<string, RegExp>> = {
  'apache/one-node.conf': /^\s*ProxyTimeout\s+(\S+)$/gm,
  'envoy/several-nodes.yaml': /stream_idle_timeout: (\S+)$/gm,
  'haproxy.cfg': /^\s*timeout (?:client|server) (\S+)$/gm,
  'nginx/behind-another-proxy.conf': /proxy_(?:read|send)_timeout (\S+);/g,
  'nginx/one-node.conf': /proxy_(?:read|send)_timeout (\S+);/g,
  'nginx/several-nodes.conf': /proxy_(?:read|send)_timeout (\S+);/g,
  'varnish/one-node.vcl': /\.(?:first_byte|between_bytes)_timeout = (\S+);/g,
}

function toMs(time: string): number {
  const [, count = '0', unit = 's'] = /^(\d+)(ms|s|m)?$/.exec(time) ?? []
  return Number(count) * ({ ms: 1, s: 1_000, m: 60_000 }[unit] ?? Number.NaN)
}

t.test('each proxy outwaits a silent upstream and a whole turn', async (t) => {
  const { timeouts } = checkConfig(base)
  t.ok(timeouts.firstByteMs >= 300_000 && timeouts.idleMs >= 300_000)
  for (const [file, pattern] of Object.entries(waits)) {
    const times = [...readFileSync(`deploy/${file}`, 'utf8').matchAll(pattern)].map(([, time = '']) => toMs(time))
    t.ok(times.length > 0, file)
    for (const ms of times) t.ok(ms > timeouts.totalMs, `${file}: ${ms}`)
  }
})
