/** The clock guard: a clock far ahead of the newest record is not trusted for an hour. */
import { join } from 'node:path'
import t from 'tap'
import { ClockGuard } from '../../../src/server/clock-guard.ts'
import { startGateway, testConfig, waitUntil } from '../../support/gateway/test-gateway.ts'
import { SimulatedClock } from '../../support/simulated-clock.ts'

const dayMs = 86_400_000
const hourMs = 3_600_000

/** A guard over a database whose newest turn and audit record have these times. */
function createGuard(newest: { readonly turnAt?: number; readonly recordAt?: number }) {
  const clock = { at: 0, monotonic: 0, now: () => clock.at, monotonicMs: () => clock.monotonic }
  const warnings: string[] = []
  const list = <Row>(row: Row | undefined) => (row === undefined ? [] : [row])
  const guard = new ClockGuard({
    clock,
    log: { warn: (_: unknown, message: string) => warnings.push(message) },
    ledger: { turns: async () => list(newest.turnAt === undefined ? undefined : { startedAt: newest.turnAt }) },
    store: { audit: { list: async () => list(newest.recordAt === undefined ? undefined : { at: newest.recordAt }) } },
  } as unknown as ConstructorParameters<typeof ClockGuard>[0])
  return {
    warnings,
    isTrustedAt: (at: number, monotonic: number) => {
      clock.at = at
      clock.monotonic = monotonic
      return guard.isTrusted()
    },
  }
}

t.test('trusts the clock of a new installation, and one near the newest turn or audit record', async (t) => {
  t.equal(await createGuard({}).isTrustedAt(50 * dayMs, 0), true)
  t.equal(await createGuard({ turnAt: 49.5 * dayMs, recordAt: 3 * dayMs }).isTrustedAt(50 * dayMs, 0), true)
  t.equal(await createGuard({ turnAt: 3 * dayMs, recordAt: 49.5 * dayMs }).isTrustedAt(50 * dayMs, 0), true)
  t.equal(
    await createGuard({ turnAt: 90 * dayMs }).isTrustedAt(50 * dayMs, 0),
    true,
    'a clock that is behind deletes nothing early',
  )
})

t.test('does not trust a clock days after the newest record for an hour, and warns once', async (t) => {
  const { isTrustedAt, warnings } = createGuard({ turnAt: 10 * dayMs })
  t.equal(await isTrustedAt(50 * dayMs, 0), false)
  t.equal(await isTrustedAt(50 * dayMs + hourMs - 1, hourMs - 1), false)
  t.match(warnings, [/^this machine's clock is 40 days after the newest record/])
  t.equal(warnings.length, 1)
  t.equal(await isTrustedAt(50 * dayMs + hourMs, hourMs), true, 'the installation was off for forty days')
  t.equal(await isTrustedAt(50 * dayMs + 2 * hourMs, 2 * hourMs), true)
})

t.test('trusts a clock at once that has been corrected', async (t) => {
  const { isTrustedAt } = createGuard({ turnAt: 10 * dayMs })
  t.equal(await isTrustedAt(50 * dayMs, 0), false)
  t.equal(await isTrustedAt(10 * dayMs + hourMs, 1_000), true)
})

t.test('does not trust a clock that jumps ahead while the server runs', async (t) => {
  const { isTrustedAt } = createGuard({ turnAt: 10 * dayMs })
  t.equal(await isTrustedAt(10 * dayMs, 0), true)
  t.equal(await isTrustedAt(15 * dayMs, 5 * dayMs), true, 'five days have really passed')
  t.equal(await isTrustedAt(40 * dayMs, 5 * dayMs + 2_000), false)
})

t.test('ends no plan of an SQLite installation that starts with a clock 40 days ahead', async (t) => {
  const config = testConfig(t)
  const { dataDir } = config.store
  const before = await startGateway(t, {})
  const member = await before.createMember()
  await before.services.store.accounts.setPlan(member.id, 'pro', Date.now() + 30 * dayMs)
  await before.services.membership.writeAudit('plan_changed', member.id, null, { plan: 'pro' })
  await before.services.store.backup(join(dataDir, 'gateway.db'))
  await before.close()

  const clock = new SimulatedClock({ now: Date.now() + 40 * dayMs, isLive: true })
  const gateway = await startGateway(t, { store: { dataDir } }, { clock })
  await clock.run(60_000)
  await waitUntil(() => gateway.log.some((line) => line.includes('40 days after the newest record')), 'the warning')
  await clock.run(60_000)
  t.equal((await gateway.services.store.accounts.find(member.id))?.plan, 'pro')
})
