/** What is told of an exchange that has ended, and when. */
import { spawnSync } from 'node:child_process'
import { setImmediate as round } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { nothingUsed } from '../../../src/exchange/exchange.ts'
import { createLog } from '../../../src/system/observe/log.ts'
import { Observe } from '../../../src/system/observe/observe.ts'
import { anExchange } from '../../support/exchange.ts'

const ended = { kind: 'completed', usage: nothingUsed } as const

function watched(): { observe: Observe; told: () => unknown[] } {
  const lines: string[] = []
  const observe = new Observe(createLog('info', { write: (line) => void lines.push(line) }))
  return { observe, told: () => lines.map((line) => (JSON.parse(line) as { requestId: unknown }).requestId) }
}

t.test('exchanges that end together are told together, in their order, in the same round of the loop', async (t) => {
  const { observe, told } = watched()
  t.teardown(() => observe.close())
  for (const id of ['one', 'two']) observe.exchangeEnded(anExchange({ id, kind: 'query' }), ended)
  t.same(told(), [], 'not before their answers have left')
  await round()
  t.same(told(), ['one', 'two'])
  observe.exchangeEnded(anExchange({ id: 'three', kind: 'query' }), ended)
  await round()
  t.same(told(), ['one', 'two', 'three'])
})

t.test('a scrape and a close find nothing left to tell', async (t) => {
  const { observe, told } = watched()
  observe.exchangeEnded(anExchange({ id: 'one', kind: 'query' }), ended)
  t.match(await observe.metricsText(), /^svc_queries_total\{outcome="completed",code="none"\} 1$/m)
  observe.exchangeEnded(anExchange({ id: 'two', kind: 'query' }), ended)
  observe.close()
  t.same(told(), ['one', 'two'])
  await round()
  t.same(told(), ['one', 'two'], 'each is told once')
})

t.test('a process that dies of an error has told what had ended', async (t) => {
  const place = (path: string) => fileURLToPath(new URL(`../../../${path}`, import.meta.url))
  const program = `
    import { createLog } from ${JSON.stringify(place('src/system/observe/log.ts'))}
    import { Observe } from ${JSON.stringify(place('src/system/observe/observe.ts'))}
    const observe = new Observe(createLog('info'))
    const x = { id: 'last', kind: 'query', inbound: {}, debug: {}, attempted: {} }
    observe.exchangeEnded(x, { kind: 'completed', usage: {} })
    throw new Error('boom')`
  const { stderr, status } = spawnSync(process.execPath, ['--input-type=module', '-e', program], { encoding: 'utf8' })
  t.equal(status, 1)
  t.match(stderr, /"requestId":"last"/)
})
