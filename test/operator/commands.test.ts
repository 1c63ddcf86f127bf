/** The operator's commands: what they refuse, they refuse in a sentence, and change nothing. */
import { spawn } from 'node:child_process'
import { copyFileSync, existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import Database from 'better-sqlite3'
import t from 'tap'
import type { Test } from 'tap'
import { futureInstant, wholeNumber } from '../../src/operator/boost.ts'
import { calendarOf } from '../../src/membership/period.ts'
import type { Ended } from '../../src/operator/main.ts'
import { keptCompiled } from '../support/bare-program.ts'
import { emptyDatabase } from '../support/empty-database.ts'
import { temporaryFolder } from '../support/gateway.ts'
import { operatorOf } from '../support/operate.ts'
import type { Operate } from '../support/operate.ts'
import { addAccount, endOf, holdOf } from '../store/contract.ts'
import { openAt } from '../store/sqlite/support.ts'

const program = fileURLToPath(new URL('../../src/operator/main.ts', import.meta.url))

/** An installation to work on, as a first start leaves it. */
async function operator(t: Test): Promise<{ readonly folder: string; readonly run: Operate }> {
  const folder = temporaryFolder(t)
  copyFileSync(await emptyDatabase(), join(folder, 'gateway.db'))
  return { folder, run: operatorOf(t, folder) }
}

/** One line, so no stack. */
async function refused(t: Test, told: Promise<Ended>, sentence: RegExp): Promise<void> {
  const { code, complaint } = await told
  t.equal(code, 1)
  t.match(complaint, sentence)
  t.equal(complaint.trimEnd().split('\n').length, 1, complaint)
}

t.test('the program prints what its commands say, and ends as they end', async (t) => {
  const { folder } = await operator(t)
  const runProgram = async (...words: string[]): Promise<Ended> => {
    const env = { PATH: process.env['PATH'] ?? '', DATA_DIR: folder, ...keptCompiled }
    const child = spawn(process.execPath, [program, ...words], { env, stdio: ['ignore', 'pipe', 'pipe'] })
    const code = new Promise<number | null>((resolve) => child.on('close', resolve))
    const [output, complaint] = await Promise.all([text(child.stdout), text(child.stderr)])
    return { code: (await code) ?? -1, output, complaint }
  }
  const made = await runProgram('account', 'create', '--email', 'a@example.com')
  t.match(made, { code: 0, output: /^Account acc_\w+ \(a@example\.com, plan free\) was made\.\n/, complaint: '' })
  await refused(t, runProgram('account', 'set-plan', 'a@example.com', '--plan', 'none'), /^There is no plan 'none'/)
  t.match(await runProgram('account', 'create'), { code: 2, output: '', complaint: /required option '--email <address>'/ })
  t.match(await runProgram('ledger', '--help'), { code: 0, output: /verify/, complaint: '' })
})

t.test('a plan is one of the configuration, not a word that any object knows', async (t) => {
  const { run } = await operator(t)
  await run('account', 'create', '--email', 'a@example.com')
  await refused(t, run('account', 'set-plan', 'a@example.com', '--plan', 'constructor'), /^There is no plan 'constructor'/)
  await refused(t, run('account', 'create', '--email', 'b@example.com', '--plan', 'toString'), /^There is no plan 'toString'/)
  t.match(await run('account', 'show', 'a@example.com'), { code: 0, output: /free/ })
})

t.test('a number of rows is a whole number', async (t) => {
  const { run } = await operator(t)
  await refused(t, run('account', 'list', '--limit=abc'), /^--limit must be a whole number of at least 1/)
  for (const limit of ['abc', '1.5', '-1', '0', ''])
    t.throws(() => wholeNumber('--limit', limit), { message: /^--limit must be a whole number of at least 1/ }, limit)
  t.equal(wholeNumber('--limit', '50'), 50)
})

t.test('a date is a date or a span, and a bare number is neither', async (t) => {
  const { run } = await operator(t)
  await run('account', 'create', '--email', 'a@example.com')
  const grant = (expires: string) =>
    run('boost', 'grant', '--account', 'a@example.com', '--tier', 'fast', '--credits', '10', '--expires', expires)
  await refused(t, grant('45'), /^--expires must be a date such as/)
  t.equal((await grant('30d')).code, 0)
  const now = Date.UTC(2026, 10, 22)
  const utc = calendarOf('UTC')
  for (const expires of ['45', 'in 30 days of 2030', '2999', '30 d', '', '2027-02-31', '2027-02-29T12:00:00Z', '2027-13-01'])
    t.throws(() => futureInstant('--expires', expires, now, utc), { message: /^--expires must be a date such as/ }, expires)
  t.equal(futureInstant('--expires', '30d', now, utc), now + 30 * 86_400_000)
  t.equal(futureInstant('--expires', '2999-01-31', now, utc), Date.UTC(2999, 0, 31))
  t.equal(futureInstant('--expires', '2999-01-31T00:00:00Z', now, utc), Date.UTC(2999, 0, 31))
  t.equal(futureInstant('--expires', '2999-01-31T00:00:00.5+08:00', now, utc), Date.UTC(2999, 0, 30, 16, 0, 0, 500))
})

t.test('a day is one of the service’s calendar', (t) => {
  const now = Date.UTC(2026, 10, 22)
  const until = (zone: string, day: string) => new Date(futureInstant('--until', day, now, calendarOf(zone))).toISOString()
  t.equal(until('America/New_York', '2027-01-31'), '2027-01-31T05:00:00.000Z')
  t.equal(until('America/New_York', '2027-07-31'), '2027-07-31T04:00:00.000Z')
  t.equal(until('Pacific/Auckland', '2027-01-31'), '2027-01-30T11:00:00.000Z')
  t.equal(until('America/New_York', '2027-01-31T00:00:00Z'), '2027-01-31T00:00:00.000Z')
  t.end()
})

t.test('what cannot be done to a deleted account is not said to be done', async (t) => {
  const { run } = await operator(t)
  const { output } = await run('account', 'create', '--email', 'a@example.com', '--json')
  const { id } = JSON.parse(output) as { id: string }
  t.equal((await run('account', 'delete', id, '--yes')).code, 0)
  await refused(t, run('account', 'set-plan', id, '--plan', 'pro'), /is deleted and stays so/)
  await refused(t, run('account', 'delete', id, '--yes'), /is deleted and stays so/)
  await refused(t, run('account', 'enable', id), /is deleted and stays so/)
  const pack = ['--account', id, '--tier', 'fast', '--credits', '10', '--expires', '30d']
  await refused(t, run('boost', 'grant', ...pack), /is deleted/)
})

t.test('a place that cannot be used is told in a sentence', async (t) => {
  const { folder, run } = await operator(t)
  await run('account', 'create', '--email', 'a@example.com')
  await refused(t, run('backup', join(folder, 'nowhere', 'copy.db')), /^No backup was written: ENOENT/)
  const blocked = join(folder, 'gateway.db', 'data')
  await refused(
    t,
    operatorOf(t, blocked)('restore', join(folder, 'gateway.db')),
    /^The data folder .* cannot be made: .*\(ENOTDIR\)/,
  )
  const broken = join(folder, 'broken')
  mkdirSync(broken)
  writeFileSync(join(broken, 'gateway.db'), 'this is no database, whatever its name says')
  await refused(t, operatorOf(t, broken)('account', 'list'), /^The database .* cannot be used: file is not a database/)
  t.match(await operatorOf(t, join(folder, 'not', 'there', 'yet'))('doctor'), {
    code: 0,
    output: /disk +\d+ MiB free/,
    complaint: '',
  })
})

t.test('a folder without a database is named, and nothing is made there', async (t) => {
  const folder = temporaryFolder(t)
  const elsewhere = join(folder, 'not', 'there')
  for (const words of [
    ['account', 'create', '--email', 'a@example.com'],
    ['ledger', 'verify'],
    ['backup', join(folder, 'copy.db')],
  ])
    await refused(t, operatorOf(t, elsewhere)(...words), new RegExp(`^There is no database in ${elsewhere}\\. .*DATA_DIR`))
  writeFileSync(join(folder, 'gateway.db'), '')
  await refused(t, operatorOf(t, folder)('turns'), /^There is no database in/)
  t.same(readdirSync(folder), ['gateway.db'])
  const made = join(folder, 'made')
  mkdirSync(made)
  new Database(join(made, 'gateway.db')).exec('create table letter (text)').close()
  await refused(t, operatorOf(t, made)('turns'), /^The database .* cannot be used: it is a database of another program/)
  t.notOk(existsSync(elsewhere))
})

t.test('an account is made only for an address that can sign in', async (t) => {
  const { run } = await operator(t)
  for (const email of ['jörg@exämple.com', 'a@b', 'a b@example.com', 'no address'])
    await refused(t, run('account', 'create', '--email', email), /is not a mail address/)
  t.match(await run('account', 'create', '--email', ' Mei@Example.com ', '--json'), { code: 0, output: /"mei@example\.com"/ })
})

t.test('a word that is no command is called that', async (t) => {
  const { run } = await operator(t)
  const { code, complaint } = await run('bogus')
  t.equal(code, 2)
  t.match(complaint, /unknown command 'bogus'/)
  t.notMatch(complaint, /start/)
})

t.test('a rush is opened once, listed, and closed', async (t) => {
  const { run } = await operator(t)
  const open = ['rush', 'open', '--packs', '5', '--credits', '70', '--ends', '2h']
  const [first, second] = await Promise.all([run(...open, '--json'), run(...open, '--json')])
  t.same([first.code, second.code].toSorted(), [0, 1], 'the same command twice at once opens one')
  const { id } = JSON.parse((first.code === 0 ? first : second).output) as { id: string }
  await refused(t, run(...open), new RegExp(`^Rush ${id} runs from .* already. Close it`))
  t.equal((await run(...open, '--beside')).code, 0, 'unless it is meant')
  t.equal((await run('rush', 'open', '--packs', '5', '--starts', '3h', '--ends', '4h')).code, 0, 'or comes later')
  const { output } = await run('rush', 'list', '--json')
  const { data } = JSON.parse(output) as { data: { id: string; state: string; remaining: number }[] }
  t.same(
    data.map(({ state }) => state),
    ['to come', 'open', 'open'],
  )
  t.match(await run('rush', 'close', id), { code: 0, output: `Rush ${id} is closed.\n` })
  await refused(t, run('rush', 'close', id), /^There is no rush .* that runs or is to come/)
  const later = data.find(({ state }) => state === 'to come')?.id ?? ''
  t.equal((await run('rush', 'close', later)).code, 0, 'also before it begins')
  t.match((await run('rush', 'list')).output, /over .*\n.*open .*\n.*over /s)
})

t.test('what a stopped server still owes is spoken of, and left to the next start', async (t) => {
  const { folder, run } = await operator(t)
  const file = join(folder, 'gateway.db')
  const open = () => openAt(t, file, { role: 'server', busyTimeoutMs: 50 })
  const server = await open()
  await addAccount(server)
  const hold = await holdOf(server)
  const lock = new Database(file)
  lock.exec('begin immediate')
  await server.ledger.settle(endOf(hold.id, 30))
  await server.close({ owedMs: 0 })
  lock.close()
  for (let time = 1; time <= 2; time++)
    t.match(await run('ledger', 'verify'), {
      code: 0,
      output: /adds up[^]*1 account, 1 turn, 1 hold open\.\n1 settlement is owed to the ledger/,
    })
  t.match(await run('doctor'), { output: /ledger +adds up \(1 account, 1 turn\)\. 1 settlement is owed/ })
  await open()
  t.match(await run('ledger', 'verify', '--json'), { output: /"owed": ?0/ })
})

t.test('a plan may be given an end, and what is set shows it', async (t) => {
  const { run } = await operator(t)
  await run('account', 'create', '--email', 'a@example.com')
  const set = (...words: string[]) => run('account', 'set-plan', 'a@example.com', '--plan', 'pro', ...words)
  await refused(t, set('--until', '2001-01-31'), /^--until lies in the past/)
  await refused(t, set('--until', 'soon'), /^--until must be a date such as/)
  t.match(await set('--until', '2999-01-31'), { code: 0, output: /has plan pro now until 2999-01-31T00:00:00\.000Z, then free/ })
  t.match(await run('account', 'show', 'a@example.com'), { code: 0, output: /2999-01-31T00:00:00\.000Z/ })
  t.match(await run('audit', '--event', 'plan_changed', '--json'), { output: /"until": "2999-01-31T00:00:00\.000Z"/ })
  await refused(t, run('audit', '--event', 'plan_change'), /^--event must be one of account_created, .*, not 'plan_change'/)
  t.equal((await set()).code, 0)
  t.match(await run('account', 'show', 'a@example.com', '--json'), { output: /"plan_until": null/ })
})
