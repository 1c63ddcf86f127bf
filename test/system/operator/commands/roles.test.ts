/** `account set-role` and `console`: roles without a web page, and a link that opens the console. */
import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { Test } from 'tap'
import { getTemplateDatabase } from '../../../runner/template-database.ts'
import { createTemporaryFolder } from '../../../support/gateway/test-gateway.ts'
import { createOperatorCli } from '../../../support/gateway/operator-cli.ts'
import type { RunOperatorCommand } from '../../../support/gateway/operator-cli.ts'

const listen = { host: '127.0.0.1', port: 8787 }

async function createOperator(t: Test, config: Parameters<typeof createOperatorCli>[2] = {}): Promise<RunOperatorCommand> {
  const folder = createTemporaryFolder(t)
  copyFileSync(await getTemplateDatabase(), join(folder, 'gateway.db'))
  return createOperatorCli(t, folder, config)
}

t.test('a role is given and taken, the last owner stays, and the log names the system user', async (t) => {
  const run = await createOperator(t)
  for (const name of ['ann', 'bob']) await run('account', 'create', '--email', `${name}@example.com`)
  t.match(await run('account', 'set-role', 'ann@example.com', '--role', 'chief'), { code: 2, stdout: '', stderr: /chief/ })
  t.match(await run('account', 'set-role', 'ann@example.com', '--role', 'owner', '--reason', 'founder'), { code: 0 })
  for (const words of [
    ['set-role', 'ann@example.com', '--role', 'none'],
    ['disable', 'ann@example.com'],
    ['delete', 'ann@example.com', '--yes'],
  ])
    t.match(await run('account', ...words), { code: 1, stderr: /^This account is the last owner\. [^\n]+\n$/ }, words.join(' '))
  await run('account', 'set-role', 'bob@example.com', '--role', 'owner')
  t.match(await run('account', 'set-role', 'ann@example.com', '--role', 'none'), { code: 0, stdout: /has no role now/ })
  const { data } = JSON.parse((await run('audit', '--event', 'role_changed', '--json')).stdout)
  t.match(data.at(-1), {
    detail: { before: null, after: 'owner' },
    reason: 'founder',
    actor: { kind: 'command', system_user: /./ },
  })
  t.equal(data.length, 3, 'refused changes leave no record')
  await run('account', 'disable', 'ann@example.com')
  t.match(await run('account', 'set-role', 'ann@example.com', '--role', 'reader'), { code: 1, stderr: /is disabled and cannot/ })
})

t.test('a link to the console is made for https and for this machine alone', async (t) => {
  const local = JSON.parse((await (await createOperator(t))('console', '--json')).stdout)
  t.match(local.url, /^http:\/\/127\.0\.0\.1:\d+\/operator\/link\?token=[\w-]{43}$/)
  const secure = await createOperator(t, { listen: { ...listen, siteUrl: 'https://example.com' } })
  t.match((await secure('console', '--no-browser')).stdout, /^https:\/\/example\.com\/operator\/link\?token=/)
  const open = await createOperator(t, { listen: { ...listen, siteUrl: 'http://192.168.0.5:8787' } })
  t.match(await open('console'), { code: 1, stdout: '', stderr: /over https or on this machine only/ })
})
