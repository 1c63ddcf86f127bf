/** The operator's commands: a refusal is one sentence and changes nothing. */
import { spawn } from 'node:child_process'
import { copyFileSync, existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import Database from 'better-sqlite3'
import t from 'tap'
import type { Test } from 'tap'
import { parseFutureInstant, parseWholeNumber } from '../../../src/operator/commands/boost.ts'
import { createCalendar } from '../../../src/domain/billing/period.ts'
import type { CommandOutcome } from '../../../src/operator/main.ts'
import { compileCacheEnvironment } from '../../runner/clean-command.ts'
import { getTemplateDatabase } from '../../runner/template-database.ts'
import { createTemporaryFolder } from '../../support/gateway/test-gateway.ts'
import { createOperatorCli } from '../../support/gateway/operator-cli.ts'
import type { RunOperatorCommand } from '../../support/gateway/operator-cli.ts'
import { addAccount, createSettleOrder, reserveHold } from '../../support/store/contract/store-contract.ts'
import { openStoreAt } from '../../support/store/sqlite/support.ts'

const program = fileURLToPath(new URL('../../../src/operator/main.ts', import.meta.url))

/** An installation as a first start leaves it. */
async function createOperator(t: Test): Promise<{ readonly folder: string; readonly run: RunOperatorCommand }> {
  const folder = createTemporaryFolder(t)
  copyFileSync(await getTemplateDatabase(), join(folder, 'gateway.db'))
  return { folder, run: createOperatorCli(t, folder) }
}

/** Expects one line, so no stack. */
async function assertRefused(t: Test, outcome: Promise<CommandOutcome>, sentence: RegExp): Promise<void> {
  const { code, stderr } = await outcome
  t.equal(code, 1)
  t.match(stderr, sentence)
  t.equal(stderr.trimEnd().split('\n').length, 1, stderr)
}

t.test('the program prints the output of its commands and exits with their code', async (t) => {
  const { folder } = await createOperator(t)
  const variables: Record<string, string> = {}
  const runProgram = async (...words: string[]): Promise<CommandOutcome> => {
    const env = { PATH: process.env['PATH'] ?? '', DATA_DIR: folder, ...compileCacheEnvironment, ...variables }
    const child = spawn(process.execPath, [program, ...words], { env, stdio: ['ignore', 'pipe', 'pipe'] })
    const code = new Promise<number | null>((resolve) => child.on('close', resolve))
    const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)])
    return { code: (await code) ?? -1, stdout, stderr }
  }
  const made = await runProgram('account', 'create', '--email', 'a@example.com')
  t.match(made, { code: 0, stdout: /^Account acc_\w+ \(a@example\.com, plan free\) was made\.\n/, stderr: '' })
  await assertRefused(t, runProgram('account', 'set-plan', 'a@example.com', '--plan', 'none'), /^There is no plan 'none'/)
  t.match(await runProgram('account', 'create'), {
    code: 2,
    stdout: '',
    stderr: /^error: The option '--email <address>' is missing\.\n {2}help: add --help\n$/,
  })
  t.match(await runProgram('ledger', '--help'), { code: 0, stdout: /verify/, stderr: '' })
  Object.assign(variables, { LANG: 'zh_CN.UTF-8' })
  t.match(await runProgram('ledger', '--help'), { code: 0, stdout: /检查账本。/, stderr: '' })
  t.match(await runProgram('leger'), { code: 2, stdout: '', stderr: /没有名为“leger”的命令。\n {2}你是否想输入：ledger/ })
  t.match(await runProgram('man'), { code: 0, stdout: /^\.TH SVC\\-GATEWAY 8 .*\n\.ad l\n\.SH 名称/, stderr: '' })
})

t.test('faults of a configuration are named with its file, and doctor has them as findings', async (t) => {
  const run = createOperatorCli(t, createTemporaryFolder(t), { defaultPlan: 'none' })
  const fault = "defaultPlan: there is no plan 'none'."
  for (const words of [['report'], ['notify', 'list'], ['backup'], ['turns'], ['store', 'show'], ['account', 'list']]) {
    const { code, stderr } = await run(...words)
    t.equal(code, 1)
    t.equal(stderr, `${process.env['GATEWAY_CONFIG']} cannot work:\n  ${fault}\n`, words.join(' '))
  }
  const { code, stdout } = await run('doctor', '--json')
  t.equal(code, 1)
  t.match(JSON.parse(stdout), {
    ok: false,
    findings: [{ what: 'runtime' }, { what: 'configuration', ok: false, detail: `${process.env['GATEWAY_CONFIG']}: ${fault}` }],
  })
  t.match((await run('doctor')).stdout, /!! +configuration/)
})

t.test('a product that is neither sold nor in the log is refused', async (t) => {
  const { run } = await createOperator(t)
  await assertRefused(t, run('turns', '--model', 'none'), /^There is no product 'none'. Products: /)
  t.match(await run('turns', '--model', 'svc-2.1'), { code: 0 })
})

t.test('accepts only plans of the configuration, not names that every object has', async (t) => {
  const { run } = await createOperator(t)
  await run('account', 'create', '--email', 'a@example.com')
  await assertRefused(t, run('account', 'set-plan', 'a@example.com', '--plan', 'constructor'), /^There is no plan 'constructor'/)
  await assertRefused(
    t,
    run('account', 'create', '--email', 'b@example.com', '--plan', 'toString'),
    /^There is no plan 'toString'/,
  )
  t.match(await run('account', 'show', 'a@example.com'), { code: 0, stdout: /free/ })
})

t.test('accepts only a whole number of rows', async (t) => {
  const { run } = await createOperator(t)
  await assertRefused(t, run('account', 'list', '--limit=abc'), /^--limit must be a whole number of at least 1/)
  for (const limit of ['abc', '1.5', '-1', '0', ''])
    t.throws(() => parseWholeNumber('--limit', limit), { message: /^--limit must be a whole number of at least 1/ }, limit)
  t.equal(parseWholeNumber('--limit', '50'), 50)
})

t.test('accepts a date or a duration, and no bare number', async (t) => {
  const { run } = await createOperator(t)
  await run('account', 'create', '--email', 'a@example.com')
  const grant = (expires: string) =>
    run('boost', 'grant', '--account', 'a@example.com', '--pool', 'fast', '--credits', '10', '--expires', expires)
  await assertRefused(t, grant('45'), /^--expires must be a date such as/)
  t.equal((await grant('30d')).code, 0)
  const now = Date.UTC(2026, 10, 22)
  const utc = createCalendar('UTC')
  for (const expires of ['45', 'in 30 days of 2030', '2999', '30 d', '', '2027-02-31', '2027-02-29T12:00:00Z', '2027-13-01'])
    t.throws(() => parseFutureInstant('--expires', expires, now, utc), { message: /^--expires must be a date such as/ }, expires)
  t.equal(parseFutureInstant('--expires', '30d', now, utc), now + 30 * 86_400_000)
  t.equal(parseFutureInstant('--expires', '2999-01-31', now, utc), Date.UTC(2999, 0, 31))
  t.equal(parseFutureInstant('--expires', '2999-01-31T00:00:00Z', now, utc), Date.UTC(2999, 0, 31))
  t.equal(parseFutureInstant('--expires', '2999-01-31T00:00:00.5+08:00', now, utc), Date.UTC(2999, 0, 30, 16, 0, 0, 500))
})

t.test('reads a day in the service’s calendar', (t) => {
  const now = Date.UTC(2026, 10, 22)
  const until = (zone: string, day: string) =>
    new Date(parseFutureInstant('--until', day, now, createCalendar(zone))).toISOString()
  t.equal(until('America/New_York', '2027-01-31'), '2027-01-31T05:00:00.000Z')
  t.equal(until('America/New_York', '2027-07-31'), '2027-07-31T04:00:00.000Z')
  t.equal(until('Pacific/Auckland', '2027-01-31'), '2027-01-30T11:00:00.000Z')
  t.equal(until('America/New_York', '2027-01-31T00:00:00Z'), '2027-01-31T00:00:00.000Z')
  t.end()
})

t.test('refuses changes of a deleted account', async (t) => {
  const { run } = await createOperator(t)
  const { stdout } = await run('account', 'create', '--email', 'a@example.com', '--json')
  const { id } = JSON.parse(stdout) as { id: string }
  t.equal((await run('account', 'delete', id, '--yes')).code, 0)
  await assertRefused(t, run('account', 'set-plan', id, '--plan', 'pro'), /is deleted and stays so/)
  await assertRefused(t, run('account', 'delete', id, '--yes'), /is deleted and stays so/)
  await assertRefused(t, run('account', 'enable', id), /is deleted and stays so/)
  const pack = ['--account', id, '--pool', 'fast', '--credits', '10', '--expires', '30d']
  await assertRefused(t, run('boost', 'grant', ...pack), /is deleted/)
})

t.test('reports an unusable path in one sentence', async (t) => {
  const { folder, run } = await createOperator(t)
  await run('account', 'create', '--email', 'a@example.com')
  await assertRefused(t, run('backup', join(folder, 'nowhere', 'copy.db')), /^The folder .*nowhere does not exist\. Create it/)
  const blocked = join(folder, 'gateway.db', 'data')
  await assertRefused(
    t,
    createOperatorCli(t, blocked)('restore', join(folder, 'gateway.db')),
    /^The data folder .* cannot be made: .*\(ENOTDIR\)/,
  )
  const broken = join(folder, 'broken')
  mkdirSync(broken)
  writeFileSync(join(broken, 'gateway.db'), 'this is no database, whatever its name says')
  await assertRefused(
    t,
    createOperatorCli(t, broken)('account', 'list'),
    /^The database .* cannot be used: file is not a database/,
  )
  t.match(await createOperatorCli(t, join(folder, 'not', 'there', 'yet'))('doctor'), {
    code: 0,
    stdout: /disk +\d+ MiB free/,
    stderr: '',
  })
})

t.test('names a folder without a database and creates nothing there', async (t) => {
  const folder = createTemporaryFolder(t)
  const elsewhere = join(folder, 'not', 'there')
  for (const words of [
    ['account', 'create', '--email', 'a@example.com'],
    ['ledger', 'verify'],
    ['backup', join(folder, 'copy.db')],
  ])
    await assertRefused(
      t,
      createOperatorCli(t, elsewhere)(...words),
      new RegExp(`^There is no database in ${elsewhere}\\. .*DATA_DIR`),
    )
  writeFileSync(join(folder, 'gateway.db'), '')
  await assertRefused(t, createOperatorCli(t, folder)('turns'), /^There is no database in/)
  t.same(readdirSync(folder), ['gateway.db'])
  const made = join(folder, 'made')
  mkdirSync(made)
  new Database(join(made, 'gateway.db')).exec('create table letter (text)').close()
  await assertRefused(
    t,
    createOperatorCli(t, made)('turns'),
    /^The database .* cannot be used: it is a database of another program/,
  )
  t.notOk(existsSync(elsewhere))
})

t.test('creates an account only for an address that can sign in', async (t) => {
  const { run } = await createOperator(t)
  for (const email of ['jörg@exämple.com', 'a@b', 'a b@example.com', 'no address'])
    await assertRefused(t, run('account', 'create', '--email', email), /is not a mail address/)
  t.match(await run('account', 'create', '--email', ' Mei@Example.com ', '--json'), { code: 0, stdout: /"mei@example\.com"/ })
})

t.test('reports an unknown command as such', async (t) => {
  const { run } = await createOperator(t)
  const { code, stderr } = await run('bogus')
  t.equal(code, 2)
  t.match(stderr, /There is no command 'bogus'/)
  t.notMatch(stderr, /start/)
})

t.test('opens a rush once, lists it and closes it', async (t) => {
  const { run } = await createOperator(t)
  const open = ['rush', 'open', '--packs', '5', '--credits', '70', '--ends', '2h']
  const [first, second] = await Promise.all([run(...open, '--json'), run(...open, '--json')])
  t.same([first.code, second.code].toSorted(), [0, 1], 'the same command twice at once opens one')
  const { id } = JSON.parse((first.code === 0 ? first : second).stdout) as { id: string }
  await assertRefused(t, run(...open), new RegExp(`^Rush ${id} runs from .* already. Close it`))
  t.equal((await run(...open, '--allow-overlap')).code, 0, 'unless it is meant')
  t.equal((await run('rush', 'open', '--packs', '5', '--starts', '3h', '--ends', '4h')).code, 0, 'or comes later')
  const { stdout } = await run('rush', 'list', '--json')
  const { data } = JSON.parse(stdout) as { data: { id: string; state: string; remaining: number }[] }
  t.same(
    data.map(({ state }) => state),
    ['to come', 'open', 'open'],
  )
  t.match(await run('rush', 'close', id), { code: 0, stdout: `Rush ${id} is closed.\n` })
  await assertRefused(t, run('rush', 'close', id), /^There is no rush .* that runs or is to come/)
  const later = data.find(({ state }) => state === 'to come')?.id ?? ''
  t.equal((await run('rush', 'close', later)).code, 0, 'also before it begins')
  t.match((await run('rush', 'list')).stdout, /over .*\n.*open .*\n.*over /s)
})

t.test('reports pending settlements of a stopped server and leaves them to the next start', async (t) => {
  const { folder, run } = await createOperator(t)
  const file = join(folder, 'gateway.db')
  const open = () => openStoreAt(t, file, { role: 'server', busyTimeoutMs: 50 })
  const server = await open()
  await addAccount(server)
  const hold = await reserveHold(server)
  const lock = new Database(file)
  lock.exec('begin immediate')
  await server.ledger.settle(createSettleOrder(hold.id, 30))
  await server.close({ flushMs: 0 })
  lock.close()
  for (let time = 1; time <= 2; time++)
    t.match(await run('ledger', 'verify'), {
      code: 0,
      stdout: /adds up[^]*1 account, 1 turn, 1 hold open\.\n1 settlement is pending/,
    })
  t.match(await run('doctor'), { stdout: /ledger +adds up \(1 account, 1 turn\)\. 1 settlement is pending/ })
  await open()
  t.match(await run('ledger', 'verify', '--json'), { stdout: /"pending_settlements": ?0/ })
})

t.test('sets the end of a plan and shows it', async (t) => {
  const { run } = await createOperator(t)
  await run('account', 'create', '--email', 'a@example.com')
  const set = (...words: string[]) => run('account', 'set-plan', 'a@example.com', '--plan', 'pro', ...words)
  await assertRefused(t, set('--until', '2001-01-31'), /^--until lies in the past/)
  await assertRefused(t, set('--until', 'soon'), /^--until must be a date such as/)
  t.match(await set('--until', '2999-01-31'), { code: 0, stdout: /has plan pro now until 31 Jan 2999 00:00 UTC, then free/ })
  t.match(await run('account', 'show', 'a@example.com'), { code: 0, stdout: /31 Jan 2999 00:00/ })
  t.match(await run('audit', '--event', 'plan_changed', '--json'), { stdout: /"until": "2999-01-31T00:00:00\.000Z"/ })
  await assertRefused(t, run('audit', '--event', 'plan_change'), /^--event must be one of account_created, .*, not 'plan_change'/)
  t.equal((await set()).code, 0)
  t.match(await run('account', 'show', 'a@example.com', '--json'), { stdout: /"plan_until": null/ })
})
