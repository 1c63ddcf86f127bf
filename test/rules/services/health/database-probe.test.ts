/** The database probe: requests start it and never wait for it, except those that ask for all checks. */
import t from 'tap'
import { GatewayError } from '../../../../src/errors.ts'
import { DatabaseProbe } from '../../../../src/services/health/database-probe.ts'
import type { DatabaseStatus } from '../../../../src/domain/database-status.ts'
import { SimulatedClock } from '../../../support/simulated-clock.ts'

const lossy: DatabaseStatus = {
  version: '17.2',
  encoding: 'UTF8',
  roundTripMs: 1,
  clockAheadMs: 0,
  isDurable: false,
  standbys: { synchronous: 0, asynchronous: 1 },
  requiredStandbys: 0,
  connections: { available: 70, max: 97 },
  isPooled: false,
  writableHosts: 1,
  oldPrimaryProtection: 'on',
  nodes: [{ version: '0.2.0', count: 1 }],
  configurations: [],
  jobsWithoutConnection: [],
}
const note = /^durability: /

/** A database that answers when the test lets it. */
function startProbe({ waitMs }: { readonly waitMs?: number } = {}) {
  const pendingProbes: PromiseWithResolvers<DatabaseStatus>[] = []
  const clock = new SimulatedClock()
  const readDatabaseStatus = (): Promise<DatabaseStatus> => {
    const answer = Promise.withResolvers<DatabaseStatus>()
    pendingProbes.push(answer)
    return answer.promise
  }
  return {
    pendingProbes,
    probe: new DatabaseProbe({ readDatabaseStatus }, clock, waitMs === undefined ? {} : { waitMs }),
    pass: clock.advance,
    /** Answers the last probe; it has been processed when this resolves. */
    answer: async (condition: DatabaseStatus = lossy) => {
      pendingProbes.at(-1)?.resolve(condition)
      await new Promise((resolve) => setImmediate(resolve))
    },
    fail: async (error: unknown) => {
      pendingProbes.at(-1)?.reject(error)
      await new Promise((resolve) => setImmediate(resolve))
    },
  }
}

t.test('returns the notes of the last probe without waiting', async (t) => {
  const { probe, pendingProbes, pass, answer } = startProbe()
  t.same(probe.getNotes(), [], 'no probe has finished yet')
  t.same(probe.getNotes(), [])
  t.equal(pendingProbes.length, 1, 'two probes never run at once')
  await answer()
  t.match(probe.getNotes(), [note])
  pass(4_999)
  t.match(probe.getNotes(), [note])
  t.equal(pendingProbes.length, 1, 'a result is reused for a while')
  pass(1)
  t.match(probe.getNotes(), [note])
  t.equal(pendingProbes.length, 2, 'then a new probe starts')
  await answer({ ...lossy, isDurable: true })
  t.same(probe.getNotes(), [], 'an operator’s choice, such as asynchronous replication, is no note')
})

t.test('does not report old results', async (t) => {
  const { probe, pass, answer } = startProbe()
  probe.getNotes()
  await answer()
  pass(10_001)
  t.same(probe.getNotes(), [])
  await answer()
  t.match(probe.getNotes(), [note])
})

t.test('reports a silent database until it answers', async (t) => {
  const { probe, pendingProbes, pass, answer } = startProbe()
  probe.getNotes()
  pass(3_000)
  t.same(probe.getNotes(), [], 'it may take its time')
  pass(1)
  t.same(probe.getNotes(), ['database: does not answer'])
  pass(60_000)
  t.same(probe.getNotes(), ['database: does not answer'])
  t.equal(pendingProbes.length, 1, 'and no second probe starts')
  await answer()
  probe.getNotes()
  await answer()
  t.match(probe.getNotes(), [note])
})

t.test('reports a failed probe by its code alone, which names no host or user', async (t) => {
  const { probe, pass, fail } = startProbe()
  const words = 'password authentication failed for user "ada" at 10.0.0.7'
  for (const [code, note] of [
    ['28P01', 'database: does not answer (28P01)'],
    ['10.0.0.7:5432', 'database: does not answer'],
    [undefined, 'database: does not answer'],
  ] as const) {
    probe.getNotes()
    const cause = Object.assign(new Error(words), code === undefined ? {} : { code })
    await fail(new GatewayError('temporarily_unavailable', { cause }))
    t.same(probe.getNotes(), [note])
    t.equal(probe.getLatestStatus(), null, 'the status before the failure is not reported')
    pass(5_000)
  }
})

t.test('waits for a current result when all checks are requested, with a limit', async (t) => {
  const { probe, pendingProbes, answer, pass } = startProbe({ waitMs: 20 })
  const unanswered = probe.runChecks()
  pass(20)
  t.same(await unanswered, [{ what: 'database', ok: false, detail: 'does not answer' }])
  const joined = probe.runChecks()
  t.equal(pendingProbes.length, 1, 'the running probe serves both')
  await answer()
  t.equal((await joined).length, 10)
  const again = probe.runChecks()
  t.equal(pendingProbes.length, 2, 'an earlier result is not reused')
  await answer({ ...lossy, version: '17.3' })
  t.match((await again)[0], { detail: /17\.3/ })
  t.equal(probe.getLatestStatus()?.version, '17.3')
})
