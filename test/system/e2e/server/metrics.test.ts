/** Metrics equal the ledger, have bounded labels, and pass Prometheus' own checker. */
import { spawnSync } from 'node:child_process'
import t from 'tap'
import { startGateway } from '../../../support/gateway/test-gateway.ts'
import type { TestGateway } from '../../../support/gateway/test-gateway.ts'

async function scrape(g: TestGateway): Promise<{ text: string; sum(name: string, labels?: Record<string, string>): number }> {
  const text = await g.scrapeMetrics()
  return {
    text,
    sum(name, labels = {}) {
      let sum = 0
      for (const line of text.split('\n')) {
        const [, series, inside = '', value] = /^(\w+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? []
        if (series === name && Object.entries(labels).every(([key, wanted]) => inside.includes(`${key}="${wanted}"`)))
          sum += Number(value)
      }
      return sum
    },
  }
}

const g = await startGateway(t)
const scripts = [
  {},
  { status: 500 },
  { status: 429 },
  { error: { at: 2 } },
  { usage: null },
  { reset: { afterBytes: 0 } },
] as const

t.test('counters equal the ledger', async (t) => {
  let nth = 0
  g.demo.script(() => scripts[nth++ % scripts.length])
  const members = await Promise.all([g.createMember(), g.createMember(), g.createMember()])
  await Promise.all(
    Array.from({ length: 60 }, async (_, i) => {
      const response = await g.chat(members[i % 3]?.token ?? '', { stream: i % 2 === 0, model: i % 3 === 0 ? 'auto' : 'svc-2.1' })
      await response.text()
    }),
  )
  for (const model of ['gpt-5', 'made-up-1', 'made-up-2']) await (await g.chat(members[0]?.token ?? '', { model })).text()
  for (const path of ['/v1/models', '/v1/models/nope-1', '/nope-2', '/v1/nope-3']) {
    await (await fetch(g.url + path, { headers: { authorization: `Bearer ${members[0]?.token}` } })).text()
  }
  await (await g.chat('svc_live_nobody')).text()

  const turns = await g.listTurns()
  const settled = turns.filter(({ state }) => state === 'settled')
  const refunded = turns.filter(({ state }) => state === 'refunded')
  t.equal(settled.length + refunded.length, 60)
  const metrics = await scrape(g)
  t.equal(metrics.sum('svc_turns_total', { outcome: 'completed' }), settled.length)
  t.equal(metrics.sum('svc_refunds_total'), refunded.length)
  t.equal(
    metrics.sum('svc_turns_total', { outcome: 'failed', code: 'upstream_error' }),
    refunded.filter(({ code }) => code === 'upstream_error').length,
  )
  t.equal(metrics.sum('svc_turns_total', { code: 'official_models_only' }), 3)
  t.equal(metrics.sum('svc_turns_total', { code: 'sign_in_required' }), 1)
  t.equal(
    metrics.sum('svc_credits_settled_total'),
    settled.reduce((sum, { credits }) => sum + credits, 0),
  )
  t.equal(
    metrics.sum('gen_ai_client_token_usage_sum', { gen_ai_token_type: 'output' }),
    settled.reduce((sum, { outputTokens }) => sum + outputTokens, 0),
  )
  t.equal(metrics.sum('gen_ai_client_token_usage_count', { gen_ai_token_type: 'input' }), settled.length)
  t.equal(metrics.sum('svc_upstream_attempts_total'), g.demo.stats().requests)
  t.equal(metrics.sum('svc_upstream_attempts_total', { outcome: 'ok' }), settled.length)
  t.equal(metrics.sum('gen_ai_client_operation_duration_seconds_count'), 60)
  t.ok(metrics.sum('gen_ai_server_time_to_first_token_seconds_count') >= settled.length)
  t.equal(metrics.sum('svc_ledger_holds_open'), 0)
  t.equal(metrics.sum('svc_ledger_mismatches'), 0)
  t.equal(metrics.sum('svc_turns_running'), 0)
  t.ok(metrics.sum('svc_ledger_operations_total') >= 120)
  t.ok(metrics.sum('svc_overhead_seconds_count') > 0)
})

t.test('labels are bounded: no id, no path, no invented model', async (t) => {
  const { text } = await scrape(g)
  t.notMatch(text, /nope|made-up|gpt-5|mbr_|acc_|svc_live|@/)
  const series = text.split('\n').filter((line) => line !== '' && !line.startsWith('#')).length
  t.ok(series < 1_500, `${series} series`)
  const products = new Set([...text.matchAll(/product="([^"]*)"/g)].map(([, product]) => product))
  for (const product of products) t.ok(product === 'none' || g.services.products.get(product ?? ''), String(product))
})

const missing = spawnSync('promtool', ['--version']).error !== undefined && process.env['CI'] !== 'true'

t.test('promtool reports no fault', { skip: missing && 'promtool is not installed (Debian: prometheus)' }, async (t) => {
  const { text } = await scrape(g)
  const check = spawnSync('promtool', ['check', 'metrics'], { input: text, encoding: 'utf8' })
  t.equal(check.stderr + check.stdout, '')
  t.equal(check.status, 0)
})

t.test('every log line of a request has its id, and none has a secret or a word of a prompt', async (t) => {
  const { token, email } = await g.createMember()
  g.demo.script((call) =>
    call.rawBody.includes('please fail') ? { status: 500, body: { error: { message: 'the reason upstream' } } } : {},
  )
  const from = g.log.length
  for (const content of ['purple elephants', 'purple elephants, please fail'])
    await (await g.chat(token, { messages: [{ role: 'user', content }] })).text()
  await (
    await fetch(`${g.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: '{"messages": purple elephants',
    })
  ).text()
  const lines = g.log.slice(from).map((line) => JSON.parse(line) as Record<string, unknown>)
  t.ok(lines.length >= 3)
  for (const line of lines) t.match(line, { level: /./, time: /^20..-/, requestId: /^mbr_/, msg: /./ })
  const failed = lines.find(({ outcome }) => outcome === 'failed')
  t.match(failed, {
    errorCode: 'upstream_error',
    upstreamStatus: 500,
    refunded: true,
    product: 'svc-2.1',
    target: 'main/demo-flagship',
  })
  const all = g.log.join('')
  for (const word of ['purple', 'elephants', token, token.slice(9), email]) t.notOk(all.includes(word), word)
})
