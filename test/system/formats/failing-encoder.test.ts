/** An encoder that throws: the member reads a failure and is not charged, and the upstream's call ends. */
import t from 'tap'
import base from '../../../gateway.config.ts'
import type { AnswerEncoder } from '../../../src/exchange/api-format/api-format.ts'
import type { AnyPlugin } from '../../../src/exchange/plugins/plugin.ts'
import { ExchangeTranslation } from '../../../src/formats/exchange-translation.ts'
import { createLineFormat } from '../../support/formats/line-format.ts'
import { startGateway, waitUntil } from '../../support/gateway/test-gateway.ts'

const settings = { sealKey: new Uint8Array(32), products: new Map<never, never>(), aliases: {} }

/** Replaces the translation by one whose encoder throws. */
function failEncoder(fails: keyof AnswerEncoder): AnyPlugin {
  return {
    name: 'failing-encoder',
    on: 'turn',
    onRequest(x) {
      const translation = new ExchangeTranslation(createLineFormat({ fails }), { settings, now: () => 0 })
      translation.translateRequest(Buffer.from('{"model":"svc-2.1","ask":"Hi"}'), '')
      Object.assign(x, { translation })
    },
  }
}

for (const [fails, stream, sent] of [
  ['start', true, /^failed internal_error$/],
  // Nothing has been sent yet.
  ['push', true, /^failed internal_error$/],
  ['end', true, /^start [^]*push [^]*\nfailed internal_error\n$/],
  ['whole', false, /^failed internal_error$/],
] as const)
  t.test(`when it throws in ${fails}`, async (t) => {
    const gateway = await startGateway(t, { plugins: [...(base.plugins as AnyPlugin[]), failEncoder(fails)] })
    const { id, token } = await gateway.createMember()
    // The upstream would never end.
    if (fails === 'push') gateway.demo.script(() => ({ hang: { afterEvents: 2 } }))
    const response = await fetch(`${gateway.url}/v1/responses`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'svc-2.1', input: 'Hi', stream }),
    })
    t.match(await response.text(), sent)
    t.equal(response.status, fails === 'end' ? 200 : 500)
    t.match(await gateway.listTurns(id), [{ state: 'refunded', code: 'internal_error', credits: 0 }])
    await waitUntil(() => gateway.demo.stats().open === 0, 'the upstream call to end')
    t.notMatch(await gateway.scrapeMetrics(), /svc_upstream_attempts_total\{[^}]*outcome="(network|in_band|timeout)"/)
    t.ok(
      gateway.log.some((line) => line.includes(`${fails} cannot encode`)),
      'the cause is in the log',
    )
  })
