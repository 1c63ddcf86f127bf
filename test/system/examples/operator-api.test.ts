/** `examples/operator-api/`: the three programs, as an operator runs them. */
import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { createOperator, createOperatorKey } from '../../support/gateway/operators.ts'
import { startGateway } from '../../support/gateway/test-gateway.ts'

const folder = fileURLToPath(new URL('../../../examples/operator-api/', import.meta.url))

t.test('make an account with a plan, export usage, and end a key', async (t) => {
  const gateway = await startGateway(t)
  const { store } = gateway.services
  const owner = await createOperator(gateway, 'owner@example.com', 'owner')
  const { id, token } = await createOperatorKey(gateway, owner, ['members:read', 'members:write', 'money:read'])
  const run = async (program: string, ...words: string[]) => {
    const env = { PATH: process.env['PATH'], GATEWAY_URL: gateway.url, OPERATOR_KEY: token }
    const child = spawn(process.execPath, [`${folder}${program}`, ...words], { env, stdio: ['ignore', 'pipe', 'pipe'] })
    const code = new Promise((resolve) => child.on('close', resolve))
    const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)])
    return { code: await code, stdout, stderr }
  }
  const made = await run('create-account.ts', 'ada@example.com', 'pro', '2099-01-31T00:00:00Z')
  t.match(made, { code: 0, stderr: '' })
  t.match(JSON.parse(made.stdout), { email: 'ada@example.com', plan: 'pro', plan_until: '2099-01-31T00:00:00.000Z' })
  t.match(await run('create-account.ts', 'ada@example.com', 'pro'), { code: 1, stderr: /There is an account for this address/ })

  const member = await store.accounts.find('ada@example.com')
  const live = await gateway.createKey(member?.id ?? '')
  t.match(await run('revoke-key.ts', live.slice(0, 13), 'leaked'), { code: 0, stdout: /^key_\w+ is revoked\.\n$/ })
  t.equal((await gateway.chat(live)).status, 401)
  t.match(await run('revoke-key.ts', live.slice(0, 13), 'leaked'), { code: 1, stderr: /0 live keys/ })
  const [revoked] = await store.audit.list({ account: member?.id ?? '', event: 'key_revoked', limit: 1 })
  t.match(revoked, { reason: 'leaked', actor: { kind: 'key', key: id, account: owner.account }, address: '127.0.0.x' })

  const usage = await run('export-usage.ts')
  t.match(usage, { code: 0, stdout: /^account,turns,failed,input_tokens,/ })
})
