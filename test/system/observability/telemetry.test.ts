/** When an ended exchange is recorded. */
import { spawnSync } from 'node:child_process'
import { setImmediate as round } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { zeroUsage } from '../../../src/exchange/exchange.ts'
import { createLog } from '../../../src/observability/log.ts'
import { Telemetry } from '../../../src/observability/telemetry.ts'
import { createTestExchange } from '../../support/gateway/test-exchange.ts'

const ended = { kind: 'completed', usage: zeroUsage } as const

function createTelemetry(): { telemetry: Telemetry; loggedIds: () => unknown[] } {
  const lines: string[] = []
  const telemetry = new Telemetry(createLog('info', { write: (line) => void lines.push(line) }))
  return { telemetry, loggedIds: () => lines.map((line) => (JSON.parse(line) as { requestId: unknown }).requestId) }
}

t.test('records exchanges that end together in order, in the same loop turn', async (t) => {
  const { telemetry, loggedIds } = createTelemetry()
  t.teardown(() => telemetry.close())
  for (const id of ['one', 'two']) telemetry.recordExchange(createTestExchange({ id, kind: 'unmetered' }), ended)
  t.same(loggedIds(), [], 'not before their responses have left')
  await round()
  t.same(loggedIds(), ['one', 'two'])
  telemetry.recordExchange(createTestExchange({ id: 'three', kind: 'unmetered' }), ended)
  await round()
  t.same(loggedIds(), ['one', 'two', 'three'])
})

t.test('leaves nothing unrecorded at a scrape and at close', async (t) => {
  const { telemetry, loggedIds } = createTelemetry()
  telemetry.recordExchange(createTestExchange({ id: 'one', kind: 'unmetered' }), ended)
  t.match(await telemetry.metricsText(), /^svc_unmetered_requests_total\{outcome="completed",code="none"\} 1$/m)
  telemetry.recordExchange(createTestExchange({ id: 'two', kind: 'unmetered' }), ended)
  telemetry.close()
  t.same(loggedIds(), ['one', 'two'])
  await round()
  t.same(loggedIds(), ['one', 'two'], 'each is recorded once')
})

t.test('records ended exchanges in a process that dies of an error', async (t) => {
  const place = (path: string) => fileURLToPath(new URL(`../../../${path}`, import.meta.url))
  const program = `
    import { createLog } from ${JSON.stringify(place('src/observability/log.ts'))}
    import { Telemetry } from ${JSON.stringify(place('src/observability/telemetry.ts'))}
    const telemetry = new Telemetry(createLog('info'))
    const x = { id: 'last', kind: 'unmetered', inbound: { headers: {} }, debug: {}, lastAttempt: {} }
    telemetry.recordExchange(x, { kind: 'completed', usage: {} })
    throw new Error('boom')`
  const { stderr, status } = spawnSync(process.execPath, ['--input-type=module', '-e', program], { encoding: 'utf8' })
  t.equal(status, 1)
  t.match(stderr, /"requestId":"last"/)
})
