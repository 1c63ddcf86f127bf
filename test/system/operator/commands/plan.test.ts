/** `svc-gateway plan …`: terms with their subscribers, and moving them. */
import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { Test } from 'tap'
import shipped from '../../../../gateway.config.ts'
import { getTemplateDatabase } from '../../../runner/template-database.ts'
import { createOperatorCli } from '../../../support/gateway/operator-cli.ts'
import type { RunOperatorCommand } from '../../../support/gateway/operator-cli.ts'
import { createTemporaryFolder } from '../../../support/gateway/test-gateway.ts'

const { free, ...paid } = shipped.plans
const pro = paid['pro']
const changePro = (change: object) => ({ plans: { ...shipped.plans, pro: { ...pro, ...change } } })

/** Members m1 to m3 have pro until an end by the shipped configuration. */
async function createMembers(t: Test): Promise<(change?: object) => RunOperatorCommand> {
  const folder = createTemporaryFolder(t)
  copyFileSync(await getTemplateDatabase(), join(folder, 'gateway.db'))
  const configure = (change: object = {}) => createOperatorCli(t, folder, change)
  const run = configure()
  for (const name of ['m1', 'm2', 'm3']) {
    await run('account', 'create', '--email', `${name}@example.com`)
    await run('account', 'set-plan', `${name}@example.com`, '--plan', 'pro', '--until', '2999-01-31')
  }
  return configure
}

const show = async (run: RunOperatorCommand, ...words: string[]) => JSON.parse((await run(...words, '--json')).stdout)

t.test('lists terms with their subscribers, whatever the configuration has become', async (t) => {
  const configure = await createMembers(t)
  const now = configure()
  await now('account', 'create', '--email', 'm4@example.com', '--plan', 'pro')
  t.match(await show(now, 'plan', 'list'), {
    data: [{ id: 'pro@1', plan: 'pro', version: 1, is_current: true, running: 3, waiting: 0 }],
    plans: [
      { id: 'free', accounts: 0 },
      { id: 'pro', is_configured: true, accounts: 1 },
    ],
  })
  const later = configure(changePro({ rpm: 1 }))
  t.match(await show(later, 'plan', 'list'), { data: [{ id: 'pro@1', is_current: false, running: 3 }] })
  await later('account', 'set-plan', 'm3@example.com', '--plan', 'pro', '--until', '2999-01-31')
  t.match(await later('plan', 'list'), { code: 0, stdout: /pro@1 .* no +2 +0[^]*pro@2 .* yes +1 +0/ })
  t.match(await show(later, 'account', 'show', 'm3@example.com'), {
    terms: 'pro@2',
    subscriptions: [
      { terms: 'pro@1', state: 'ended' },
      { terms: 'pro@2', state: 'active' },
    ],
  })

  // Terms that have subscribers are served without the plan; an account that follows the configuration is named.
  const withdrawn = configure({ plans: { free, max: paid['max'] } })
  t.match(await show(withdrawn, 'account', 'show', 'm1@example.com'), {
    plan: 'pro',
    terms: 'pro@1',
    pools: [{ limit: pro?.pools.fast.day }],
  })
  t.match(await withdrawn('plan', 'list'), { stdout: /pro \(not configured\) +1\n/ })
  t.match(await withdrawn('doctor'), { stdout: /1 account is on the plan 'pro', which is not in the configuration/ })
})

t.test('moves subscriptions to other terms, and refuses to take anything away without a reason', async (t) => {
  const configure = await createMembers(t)
  const smaller = configure(changePro({ rpm: 1 }))
  const move = (...words: string[]) => smaller('plan', 'move', '--from', 'pro@1', '--to', 'pro', ...words)
  t.match(await move('--at', 'now', '--dry-run'), {
    code: 0,
    stdout:
      /^3 subscriptions would move from pro@1 to pro@2 now\. pro@2 gives less of something\. Without --reason this is refused/,
  })
  t.match(await show(smaller, 'plan', 'list'), { data: { length: 1 } }, 'a dry run makes no terms')
  t.match(await move('--at', 'now'), { code: 1, stderr: /^pro@2 gives less than pro@1, which 3 subscriptions paid for or got/ })
  t.match(await move(), {
    code: 0,
    stdout: /^0 subscriptions will move .* 3 subscriptions without a renewal keep pro@1 to the end/,
  })
  t.match(await show(smaller, 'account', 'show', 'm1@example.com'), { terms: 'pro@1' })
  t.match(await move('--at', 'now', '--reason', 'the old limit was a mistake'), { code: 0, stdout: /^3 subscriptions moved/ })
  t.match(await show(smaller, 'account', 'show', 'm1@example.com'), { terms: 'pro@2', plan_until: '2999-01-31T00:00:00.000Z' })
  t.match(await show(smaller, 'audit', '--event', 'plan_changed'), {
    data: [{ detail: { by: 'operator', from: 'pro@1', terms: 'pro@2', reason: 'the old limit was a mistake' } }],
  })
  const larger = configure(changePro({ rpm: 10_000 }))
  t.match(await larger('plan', 'move', '--from', 'pro@2', '--to', 'pro', '--at', 'now'), {
    code: 0,
    stdout: /^3 subscriptions moved from pro@2 to pro@3 now\.\n/,
  })
  for (const [words, sentence] of [
    [['--from', 'pro@9', '--to', 'pro@1'], /^There are no terms 'pro@9'/],
    [['--from', 'pro@1', '--to', 'none'], /^There are no terms 'none'/],
    [['--from', 'pro@1', '--to', 'pro@1'], /have these terms already/],
    [['--from', 'pro@1', '--to', 'pro@2', '--at', 'soon'], /^--at must be now or renewal/],
  ] as const)
    t.match(await larger('plan', 'move', ...words), { code: 1, stderr: sentence })
})

t.test('ends a subscription with a reason that the member sees', async (t) => {
  const configure = await createMembers(t)
  const run = configure()
  const [subscription] = (await show(run, 'account', 'show', 'm1@example.com')).subscriptions
  t.match(await run('plan', 'end', subscription.id), { code: 2, stderr: /The option '--reason <text>' is missing/ })
  t.match(await run('plan', 'end', subscription.id, '--reason', ' '), { code: 1, stderr: /^--reason must name why/ })
  t.match(await run('plan', 'end', subscription.id, '--reason', 'fraud'), { code: 0, stdout: /has plan free now/ })
  t.match(await run('plan', 'end', subscription.id, '--reason', 'fraud'), { code: 1, stderr: /has ended already/ })
  t.match(await run('plan', 'end', 'sub_9', '--reason', 'fraud'), { code: 1, stderr: /^There is no subscription 'sub_9'/ })
  t.match(await show(run, 'audit', '--event', 'plan_changed'), { data: [{ detail: { ended: 'pro@1', reason: 'fraud' } }] })
})
