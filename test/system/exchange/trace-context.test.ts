/** The client's `traceparent`: what is valid, and that it reaches the upstream and the log line. */
import t from 'tap'
import { readTraceId, readTraceparent } from '../../../src/exchange/trace-context.ts'
import { startGateway, waitUntil } from '../../support/gateway/test-gateway.ts'

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736'
const valid = `00-${traceId}-00f067aa0ba902b7-01`
const invalid = [
  '',
  valid.toUpperCase(),
  `${valid}-x`,
  `${valid}\n`,
  valid.replace('00-', 'ff-'),
  `00-${'0'.repeat(32)}-00f067aa0ba902b7-01`,
  `00-${traceId}-${'0'.repeat(16)}-01`,
  'a trace',
]

t.test('only a valid header is accepted', async (t) => {
  t.equal(readTraceparent({ headers: { traceparent: valid } }), valid)
  t.equal(readTraceId({ headers: { traceparent: valid } }), traceId)
  for (const traceparent of invalid) {
    t.equal(readTraceparent({ headers: { traceparent } }), undefined, JSON.stringify(traceparent))
    t.equal(readTraceId({ headers: { traceparent } }), undefined)
  }
  t.equal(readTraceparent({ headers: {} }), undefined)
})

t.test('the upstream receives a valid header, and the log line has the trace id', async (t) => {
  const gateway = await startGateway(t)
  const { token } = await gateway.createMember()
  for (const traceparent of [valid, invalid[1] ?? ''])
    t.equal((await gateway.chat(token, {}, { headers: { traceparent } })).status, 200)
  t.same(
    gateway.demo.calls.map(({ headers }) => headers['traceparent']),
    [valid, undefined],
  )
  const findLines = () => gateway.log.filter((line) => line.includes('"kind":"turn"'))
  await waitUntil(() => findLines().length === 2, 'two log lines')
  t.same(
    findLines().map((line) => (JSON.parse(line) as { traceId?: string }).traceId),
    [traceId, undefined],
  )
})
