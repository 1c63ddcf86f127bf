/**
 * Figures over changes of the clocks, over turns that end in another hour and day than they began, and when turns are no longer kept: with a
 * clock that the test moves.
 */
import { join } from 'node:path'
import t from 'tap'
import { createCalendar } from '../../../../../src/domain/billing/period.ts'
import { createClock } from '../../../../../src/system/clock.ts'
import { createRandom } from '../../../../simulated/random.ts'
import { compareFailures, compareLists, compareMembers, compareUsage } from '../../../../support/figures/compare-figures.ts'
import { readLedgerTurns } from '../../../../support/figures/ledger-turns.ts'
import { createOperator, openConsole } from '../../../../support/gateway/operators.ts'
import { startGateway } from '../../../../support/gateway/test-gateway.ts'

const minuteMs = 60_000
const dayMs = 1440 * minuteMs
const keepTurnsForDays = 10

/** Begins some hours before the clocks change. */
const zones = { 'Europe/Berlin': '2026-10-24T18:05:00Z', 'Australia/Lord_Howe': '2026-10-03T07:55:00Z' } as const

for (const [timeZone, begin] of Object.entries(zones))
  t.test(`figures are the ledger’s over a change of the clocks in ${timeZone}`, async (t) => {
    let now = Date.parse(begin)
    const overrides = { timeZone, store: { keepTurnsForDays } }
    const gateway = await startGateway(t, overrides, { clock: createClock({ now: () => now }) })
    const random = createRandom(5)
    gateway.demo.script(() => {
      // The turn ends in a later hour.
      now += random.below(70) * minuteMs
      return random.isOne(0.3) ? { status: random.choose([500, 503, 400]) } : { tokens: 1 + random.below(30) }
    })
    const members = [await gateway.createMember('max'), await gateway.createMember('max')]
    for (let turn = 0; turn < 60; turn += 1) {
      now += random.below(25) * minuteMs + random.below(minuteMs)
      await (await gateway.chat(random.choose(members).token, { model: random.choose(['svc-2.1', 'auto']) })).text()
    }
    gateway.demo.script()
    await gateway.waitUntilSettled()
    const { membership, clock } = gateway.services
    const collect = () => membership.turnHistory.collect(keepTurnsForDays, { clock, signal: new AbortController().signal })
    const look = async () => {
      await collect()
      const keptFrom = createCalendar(timeZone).getPeriods(now - keepTurnsForDays * dayMs).day.end
      const stored = readLedgerTurns(join(gateway.config.store.dataDir, 'gateway.db'))
      const turns = stored.filter(({ started }) => started >= keptFrom)
      const console = await openConsole(gateway, await createOperator(gateway, `owner-${now}@example.com`, 'owner'))
      return { t, url: gateway.url, console, turns, stored, now, timeZone }
    }
    const all = await look()
    t.equal(all.turns.length, 60)
    await compareLists(all)
    await compareUsage(all)
    await compareFailures(all)
    await compareMembers(all, {})

    // Some of them are older than the first whole day that is kept, and the ledger has not deleted them yet.
    now = (all.turns.at(-5)?.started ?? 0) + keepTurnsForDays * dayMs
    const rest = await look()
    t.ok(rest.turns.length > 0 && rest.turns.length < 60, `${rest.turns.length} turns are kept`)
    await compareLists(rest)
    await compareUsage(rest)
    for (const { id } of members) {
      const path = `${gateway.url}/api/operator/v1/members/${id}/statement?limit=200`
      const { body } = await rest.console.get(path)
      const shown = body.data.filter(({ kind }: { kind: string }) => kind === 'turn').map(({ turn }: { turn: number }) => turn)
      const mine = rest.stored.filter(({ account }) => account === id).map((turn) => turn.id)
      t.same(new Set(shown), new Set(mine), 'the statement has what the ledger has')
    }
  })
