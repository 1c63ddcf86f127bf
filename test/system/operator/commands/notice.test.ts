/** `svc-gateway notice …`: the same rules and records as the console and the operator API. */
import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { getTemplateDatabase } from '../../../runner/template-database.ts'
import { createOperatorCli } from '../../../support/gateway/operator-cli.ts'
import { createTemporaryFolder } from '../../../support/gateway/test-gateway.ts'

t.test('notices are added, listed, changed and ended, with the reason in the audit log', async (t) => {
  const folder = createTemporaryFolder(t)
  copyFileSync(await getTemplateDatabase(), join(folder, 'gateway.db'))
  const run = await createOperatorCli(t, folder)
  const add = await run(
    'notice',
    'add',
    '--kind',
    'maintenance',
    '--zh',
    '维护',
    '--from',
    '1h',
    '--until',
    '3h',
    '--reason',
    'disks',
  )
  t.match(add, { code: 0, stdout: /^Notice ntc_\w{26} was added; it is shown from .+ until .+\.\n$/ })
  const [notice] = JSON.parse((await run('notice', 'list', '--json')).stdout).data
  t.match(notice, { state: 'planned', kind: 'maintenance', text: { en: null, zh: '维护' }, revision: 1 })
  t.match(await run('notice', 'list'), { stdout: /planned +maintenance/ })
  t.match(await run('notice', 'change', notice.id, '--en', 'Short works', '--from', '0m', '--json'), {
    code: 0,
    stdout: /"state": "shown"[^]*Short works[^]*维护[^]*"revision": 2/,
  })
  t.match(await run('notice', 'end', notice.id), { code: 0, stdout: `Notice ${notice.id} is over.\n` })
  for (const [words, stderr] of [
    [['change', notice.id, '--en', 'x'], /^This notice is over\. Add a new one/],
    [['end', 'ntc_none'], /There is no notice 'ntc_none'/],
    [['add', '--until', '2h'], /^A notice needs a text/],
    [['add', '--en', 'x', '--until', '2020-01-01T00:00:00Z'], /^A notice must end after it begins/],
    [['add', '--en', 'x', '--until', 'soon'], /--until must be a date/],
  ] as const)
    t.match(await run('notice', ...words), { code: 1, stdout: '', stderr }, words.join(' '))
  const { data } = JSON.parse((await run('audit', '--json')).stdout)
  t.match(
    data.map(({ event, reason, actor }: Record<string, unknown>) => ({ event, reason, actor })),
    [
      { event: 'notice_ended', reason: null },
      { event: 'notice_changed', reason: null },
      { event: 'notice_added', reason: 'disks', actor: { kind: 'command' } },
    ],
  )
})
