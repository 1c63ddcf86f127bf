/** `svc-gateway account adjust`: corrections with a reason, which the member sees and the ledger keeps. */
import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { getTemplateDatabase } from '../../../../runner/template-database.ts'
import { createOperatorCli } from '../../../../support/gateway/operator-cli.ts'
import { createTemporaryFolder } from '../../../../support/gateway/test-gateway.ts'

t.test('adds and takes credits, each with a reason in the audit log, and the ledger adds up', async (t) => {
  const folder = createTemporaryFolder(t)
  copyFileSync(await getTemplateDatabase(), join(folder, 'gateway.db'))
  const run = createOperatorCli(t, folder)
  const show = async (...words: string[]) => JSON.parse((await run(...words, '--json')).stdout)
  await run('account', 'create', '--email', 'a@example.com')
  const adjust = (credits: string, ...words: string[]) =>
    run('account', 'adjust', 'a@example.com', '--credits', credits, '--pool', 'fast', ...words)
  t.match(await adjust('-20000'), { code: 2, stderr: /The option '--reason <text>' is missing/ })
  t.match(await adjust('-200', '--reason', 'charged twice by us'), {
    code: 0,
    stdout: /^200 credits \(fast\) were taken from a@example\.com/,
  })
  t.match(await adjust('20000', '--reason', 'an outage', '--expires', '2999-01-31'), {
    code: 0,
    stdout: /^20000 credits \(fast\) were added to a@example\.com; they expire 31 Jan 2999/,
  })
  const shown = await show('account', 'show', 'a@example.com')
  t.match(shown.pools[0], { tier: 'fast', window: 'day', used: 200 })
  t.match(shown.boosts, [{ tier: 'fast', granted: 20_000, remaining: 20_000 }])
  t.match(await show('audit', '--event', 'credits_adjusted'), {
    data: [
      { detail: { by: 'operator', credits: 20_000, pool: 'fast', reason: 'an outage' } },
      { detail: { by: 'operator', credits: -200, reason: 'charged twice by us' } },
    ],
  })
  t.match(await run('ledger', 'verify'), { code: 0, stdout: /adds up/ })
  for (const [words, sentence] of [
    [['0', '--reason', 'x'], /^--credits must be a whole number such as 20000 or -20000/],
    [['1.5', '--reason', 'x'], /^--credits must be/],
    [['5', '--reason', ' '], /^--reason must name why/],
    [['5', '--reason', 'x'.repeat(501)], /^--reason must name why/],
    [['5', '--reason', 'x', '--expires', '2001-01-01'], /^--expires lies in the past/],
    [['5', '--reason', 'x', '--pool', 'slow'], /^--pool must be fast or premium/],
  ] as const) {
    const [credits, ...rest] = words
    t.match(await adjust(credits, ...rest), { code: 1, stderr: sentence })
  }
})
