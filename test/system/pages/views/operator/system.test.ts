/** `/operator/audit` and `/operator/system`: what they show, and the doctor that a page runs. */
import { execFile, spawn } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { createOperator, openConsole } from '../../../../support/gateway/operators.ts'
import { createTemporaryFolder, startGateway, waitUntil } from '../../../../support/gateway/test-gateway.ts'
import { WebsiteClient } from '../../../../support/gateway/website-client.ts'
import { checkoutRoot } from '../../../../support/processes/server-process.ts'
import { compileCacheEnvironment } from '../../../../runner/clean-command.ts'
import { readFormFields, sendForm } from '../../../../support/website/page-form.ts'

t.test('the audit log is filtered by account, event and day, and has pages', async (t) => {
  const gateway = await startGateway(t)
  const owner = await createOperator(gateway, 'ann@example.com', 'owner')
  const console = await openConsole(gateway, owner)
  const { membership, store } = gateway.services
  const member = await store.accounts.find((await gateway.createAccount()).id)
  if (member === undefined) throw new Error('there is no member')
  const actor = { kind: 'command', systemUser: 'root' } as const
  for (let count = 0; count < 60; count += 1)
    await membership.memberAdmin.setStatus(member, count % 2 === 0 ? 'disabled' : 'active', {
      actor,
      client: null,
      reason: `<b>number ${count}</b>`,
    })
  const show = async (query: string) => (await console.get(`${gateway.url}/operator/audit?${query}`)).body as string
  const count = (page: string) => [...page.matchAll(/class="log-row audit-row"/g)].length
  const all = await show('')
  t.equal(count(all), 50)
  t.match(all, /Account enabled[^]*by a command of root[^]*“&lt;b&gt;number 59&lt;\/b&gt;”[^]*before: active[^]*after: active/)
  const disabled = await show(`account=${member.email}&event=account_disabled`)
  t.equal(count(disabled), 30)
  t.notMatch(disabled.split('<ul class="rows"')[1], /Account enabled/)
  t.equal(count(await show('since=2999-01-01')), 0)
  for (const query of ["account=' or 1=1 --", 'event=none', 'since=2026-02-31', 'before=1', 'since=soon'])
    t.equal((await console.get(`${gateway.url}/operator/audit?${query}`)).status, 200, query)
  const next = /href="(\/operator\/audit\?account=[^"]*before=aud_\w+)"/.exec(await show(`account=${member.id}`))?.[1] ?? ''
  t.equal(count((await console.get(gateway.url + next.replaceAll('&amp;', '&'))).body as string), 10)
})

t.test('the state of the service and its operators; only who may change routing runs the doctor', async (t) => {
  const gateway = await startGateway(t)
  const console = await openConsole(gateway, await createOperator(gateway, 'ann@example.com', 'owner'))
  const reader = await openConsole(gateway, await createOperator(gateway, 'bob@example.com', 'reader'))
  const url = `${gateway.url}/operator/system`
  const page = (await console.get(url)).body as string
  t.match(page, new RegExp(`${process.versions.node}[^]*Accepts turns[^]*yes[^]*ann@example\\.com[^]*Owner[^]*not set up`))
  const doctor = readFormFields(page, { action: 'run_doctor' })
  t.match((await sendForm(console, url, doctor)).body, /cannot be run from here/)
  t.match((await sendForm(console, url, doctor)).body, /its results are not kept/, 'a reload does not claim to show them')
  t.notMatch((await reader.get(url)).body, /run_doctor/)
})

t.test('runs the doctor of the program, and shows what it finds', async (t) => {
  const program = join(checkoutRoot, 'bin/svc-gateway.js')
  const env = {
    PATH: process.env['PATH'] ?? '',
    DATA_DIR: createTemporaryFolder(t),
    HOST: '127.0.0.1',
    PORT: '0',
    WORKERS: '2',
    ...compileCacheEnvironment,
  }
  const server = spawn(process.execPath, [program, 'start'], { env, cwd: checkoutRoot, stdio: ['ignore', 'pipe', 'ignore'] })
  t.teardown(() => void server.kill('SIGKILL'))
  let output = ''
  server.stdout.on('data', (part) => (output += String(part)))
  await waitUntil(() => /listens on \S+/.test(output), 'the server to start')
  const url = /listens on (\S+)/.exec(output)?.[1] ?? ''
  const printed = await promisify(execFile)(process.execPath, [program, 'console'], { env, cwd: checkoutRoot })
  const token = /token=([\w-]+)/.exec(printed.stdout)?.[1] ?? ''
  const browser = new WebsiteClient({ url, config: { store: { dataDir: env.DATA_DIR } } })
  const link = (await browser.get(`${url}/operator/link?token=${token}`)).body as string
  t.equal((await sendForm(browser, `${url}/operator/link`, readFormFields(link, { action: 'open' }))).status, 303)
  const page = (await browser.get(`${url}/operator/system`)).body as string
  const found = (await sendForm(browser, `${url}/operator/system`, readFormFields(page, { action: 'run_doctor' }))).body as string
  t.match(found, /role="status">(?:Every check passes|\d+ checks fail)/)
  t.match(found, /runtime[^]*Node 2\d/)
  t.match(found, /disk[^]*MiB free/)
})
