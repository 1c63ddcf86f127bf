/**
 * Every recorded case through the gateway: the member gets what `expected.ts` demands, no turn costs more than it held, nothing of the operator's
 * is shown, and the ledger adds up (the test's gateway verifies it when it closes). Then the same recordings cut, glued and split.
 *
 * `MODEL_SERVER_CUTS` is the number of cuts, or `all` for each recording at every tenth byte; `MODEL_SERVER_SEED` repeats a sample.
 */
import { randomInt } from 'node:crypto'
import t from 'tap'
import { cutsOf, sampleOf } from './cuts.ts'
import { expectedOutcomes, listedIds } from './expected.ts'
import { breachesOf, describeOutcome, differencesOf, protocolBreaches } from './judge.ts'
import { runScenarios } from './run-scenarios.ts'
import type { Observed } from './run-scenarios.ts'
import { listScenarios } from './scenarios.ts'

/** What the gateway does wrong today. Each entry must still fail, so that the fix takes it off the list. */
const knownFailures: Readonly<Record<string, readonly string[]>> = {}

const known = new Set(Object.values(knownFailures).flat())
const scenarios = listScenarios()

const nameOf = ({ scenario, turn }: Observed): string => scenario.id + (turn === 0 ? '' : ` ${turn + 1}`)

t.test('gives members what each recorded case demands', async (t) => {
  const observed = await runScenarios(t, scenarios)
  const names = new Set(observed.map(nameOf))
  for (const id of [...known, ...listedIds]) t.ok(names.has(id), `${id} is a case`)
  for (const each of observed) {
    const name = nameOf(each)
    const outcome = describeOutcome(each)
    const expected = expectedOutcomes(name)
    const problems = [
      ...(expected.includes(outcome) ? [] : [`${outcome} instead of ${expected.join(' or ')}`]),
      ...breachesOf(each),
      ...differencesOf(each),
    ]
    if (known.has(name)) t.not(problems.length, 0, `${name} is right now: take it off the list of known failures`)
    else t.same(problems, [], name)
  }
})

t.test('gives members an answer or one error wherever a recording is cut, glued or split', async (t) => {
  const seed = Number(process.env['MODEL_SERVER_SEED'] ?? randomInt(2 ** 31))
  const all = cutsOf(scenarios.filter(({ turns, model }) => turns.length === 1 && model !== null))
  const wanted = process.env['MODEL_SERVER_CUTS'] ?? '400'
  const chosen = wanted === 'all' ? all : sampleOf(all, Number(wanted), seed)
  t.comment(`${chosen.length} of ${all.length} cuts, seed ${seed}`)
  for (let from = 0; from < chosen.length; from += 400) {
    const batch = chosen.slice(from, from + 400)
    await t.test(`cuts from ${from} on`, async (t) => {
      const changes = new Map(batch.map(({ scenario, change }) => [scenario, change]))
      const observed = await runScenarios(
        t,
        batch.map(({ scenario }) => scenario),
        {
          change: (playback, scenario) => ({ ...playback, ...changes.get(scenario) }),
        },
      )
      for (const each of observed) {
        const { id } = each.scenario
        const original = id.slice(0, id.indexOf(','))
        const isKnown = known.has(original)
        const problems = isKnown ? protocolBreaches(each) : breachesOf(each)
        const { cutAt } = changes.get(each.scenario) ?? {}
        const outcome = describeOutcome(each)
        if (cutAt === undefined && !isKnown && !expectedOutcomes(original).includes(outcome)) problems.push(outcome)
        if (cutAt !== undefined && each.scenario.asking === 'whole' && each.code === null)
          problems.push('an answer without its end')
        if (problems.length > 0) t.fail(`${id}: ${problems.join('; ')}`)
      }
      t.equal(observed.length, batch.length)
    })
  }
})
