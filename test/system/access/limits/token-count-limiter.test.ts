/** The token counts that run at once; `test/system/plugins/rate-limit.test.ts` has their requests per minute. */
import t from 'tap'
import { createBudgetMemory, SharedBudget } from '../../../../src/access/limits/shared-budget.ts'
import { TokenCountLimiter } from '../../../../src/access/limits/token-count-limiter.ts'
import { ClientDisconnected } from '../../../../src/exchange/exchange.ts'

const stayConnected = (): void => undefined

t.test('runs four counts of an account at once, and those of others beside them', async (t) => {
  const limiter = new TokenCountLimiter({ budget: new SharedBudget(createBudgetMemory(1), 0), maxWaitMs: 60_000 })
  for (let i = 0; i < 4; i++) t.ok(limiter.acquire('a'))
  t.notOk(limiter.acquire('a'))
  t.ok(limiter.acquire('b'))
  const waiting = limiter.wait('a', stayConnected)
  limiter.release('a')
  t.equal(await waiting, true)
  t.notOk(limiter.acquire('a'), 'the slot has passed to the one that waited')
})

t.test('lets sixty-four counts wait, and refuses the next', async (t) => {
  const limiter = new TokenCountLimiter({ budget: new SharedBudget(createBudgetMemory(1), 0), maxWaitMs: 60_000 })
  for (let i = 0; i < 4; i++) limiter.acquire('a')
  const disconnects: (() => void)[] = []
  const waiting = Array.from({ length: 64 }, () => limiter.wait('a', (listener) => disconnects.push(listener)))
  t.equal(await limiter.wait('a', stayConnected), false)
  for (const disconnect of disconnects) disconnect()
  for (const each of waiting) await t.rejects(each, ClientDisconnected)
})

t.test('counts the slots of all threads', async (t) => {
  const memory = createBudgetMemory(2)
  const [one, other] = [0, 1].map(
    (thread) => new TokenCountLimiter({ budget: new SharedBudget(memory, thread), maxWaitMs: 60_000 }),
  )
  if (one === undefined || other === undefined) throw new Error('two threads')
  for (let i = 0; i < 3; i++) one.acquire('a')
  t.ok(other.acquire('a'))
  t.notOk(other.acquire('a'))
  const waiting = other.wait('a', stayConnected)
  one.release('a')
  t.equal(await waiting, true)
})

t.test('refuses at once where nothing may wait', async (t) => {
  const limiter = new TokenCountLimiter({ budget: new SharedBudget(createBudgetMemory(1), 0), maxWaitMs: 0 })
  for (let i = 0; i < 4; i++) limiter.acquire('a')
  t.equal(await limiter.wait('a', stayConnected), false)
})
