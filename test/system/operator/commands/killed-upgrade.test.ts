/** `svc-gateway upgrade` that is killed at any of its steps. */
import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { buildUpgradeReleases, layout, readDatabase, startPresentVersion } from '../../../support/processes/upgrade-releases.ts'

if (process.getuid?.() !== 0) {
  t.plan(0, 'an upgrade runs as root')
  process.exit(0)
}

const releases = buildUpgradeReleases()
const { presentVersion, migrating, brokenMigrating } = releases

/** Each run of the tests kills at another step; ALL_STEPS=1 kills at each. */
function chooseSteps(steps: readonly string[]): readonly number[] {
  const all = steps.map((_, index) => index + 1)
  if (process.env['ALL_STEPS'] === '1') return all
  return all.slice(Math.floor(Math.random() * all.length)).slice(0, 1)
}

t.test(
  'an upgrade that is killed at a random step leaves a service that starts, and is completed when it is run again',
  async (t) => {
    const { service, key } = await startPresentVersion(t, releases)
    const words = ['upgrade', '--to', migrating, '--ignore-doctor']
    const { steps } = await service.operateKilled('current', words, 0)
    t.same([service.current, readDatabase(service).turns], ['7.1.0', 2])
    t.match((await service.operate('current', ['upgrade', '--back', '--lose-them'])).stdout, 'runs again')
    rmSync(join(service.root, '7.1.0'), { recursive: true })
    let turns = 2
    for (const step of chooseSteps(steps)) {
      const title = `killed before step ${step}: ${steps[step - 1]}`
      await service.operateKilled('current', words, step)
      t.ok(service.control('start'), title)
      t.equal((await service.chat(key)).status, 200, title)
      turns += 1
      t.equal(readDatabase(service).turns, turns, title)
      const again = await service.operate('current', words)
      t.equal(again.code, 0, `${title}, run again: ${again.stderr}`)
      t.same([service.current, readDatabase(service)], ['7.1.0', { layout: [...layout, '9999-next'], turns }], title)
      t.equal((await service.operate('current', ['upgrade', '--back', '--lose-them'])).code, 0, title)
      turns = readDatabase(service).turns
      rmSync(join(service.root, '7.1.0'), { recursive: true })
    }
  },
)

t.test('where the new version does not start and the upgrade was killed, the service goes back with all data', async (t) => {
  const { service, key } = await startPresentVersion(t, releases)
  const words = ['upgrade', '--to', brokenMigrating, '--ignore-doctor']
  const { steps, code, stdout, stderr } = await service.operateKilled('current', words, 0)
  t.equal(code, 1)
  t.match(stderr, '7.1.1 did not become ready')
  t.match(stdout, `${presentVersion} runs again, with all its data: 7.1.1 had sold nothing`)
  t.same([service.current, readDatabase(service)], [presentVersion, { layout, turns: 2 }])
  t.notOk(existsSync(join(service.root, 'unfinished')))
  const switched = steps.findIndex((step) => step.startsWith('renameSync') && step.endsWith('/current'))
  t.ok(switched > 0)
  let turns = 2
  for (const chosen of chooseSteps(steps.slice(switched))) {
    const step = switched + chosen
    const title = `killed before step ${step}: ${steps[step - 1]}`
    await service.operateKilled('current', words, step)
    if (!service.control('restart')) {
      const back = await service.goBackUnlessServed()
      t.equal(back?.code, 0, `${title}: ${back?.stderr}`)
    }
    t.equal((await service.chat(key)).status, 200, title)
    turns += 1
    t.same([service.current, readDatabase(service)], [presentVersion, { layout, turns }], title)
  }
})
