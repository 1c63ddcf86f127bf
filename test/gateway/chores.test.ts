/** What is done now and then, and what of it an end waits for. */
import { mock } from 'node:test'
import t from 'tap'
import { Chores } from '../../src/gateway/chores.ts'
import type { Services } from '../../src/gateway/services.ts'

t.test('an end waits for no look that takes long, and calls it no failure', async (t) => {
  mock.timers.enable({ apis: ['setInterval'] })
  t.teardown(() => mock.timers.reset())
  const begun: string[] = []
  const failed: unknown[] = []
  const untilGivenUp = (what: string, signal?: AbortSignal) => {
    begun.push(what)
    return new Promise<never>((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason)))
  }
  const nothing = async () => 0
  const { promise: stopped, resolve: stop } = Promise.withResolvers<void>()
  const chores = new Chores({
    clock: { now: () => 0, ticks: () => 0 },
    config: { store: { keepTurnsForDays: 1 } },
    credentials: { flushUses: nothing, followChanges: nothing, followEveryMs: 1e9 },
    // Fails at the end by itself, which is told.
    images: { cleanUp: () => stopped.then(() => Promise.reject(new Error('no room'))) },
    ledger: {
      expire: nothing,
      forgetTurns: (_before: number, _limit: number, signal: AbortSignal) => untilGivenUp('forgetting', signal),
      verify: (signal: AbortSignal) => untilGivenUp('verifying', signal),
    },
    log: { warn() {}, error: (facts: unknown) => failed.push(facts) },
    membership: { boosts: { payInvites: nothing, deliverLost: nothing }, endPlans: nothing, tidy: nothing },
    observe: { ledgerChecked() {} },
    store: { cluster: null },
  } as unknown as Services)
  mock.timers.tick(3_600_000)
  t.same(begun, ['forgetting', 'verifying'])
  const closed = chores.close()
  stop()
  await closed
  t.match(failed, [{ chore: 'clean up images', err: { message: 'no room' } }])
  t.equal(failed.length, 1)
})
