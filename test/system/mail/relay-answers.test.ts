/**
 * What happens to an email for each answer of a relay, and what the member, `/readyz`, the metrics and `doctor` say. The table in
 * docs/email.md is what this test sees: with WRITE_DOCUMENTS=1 it writes it.
 */
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import type { Test } from 'tap'
import { emailResults } from '../../../src/mail/email-results.ts'
import { maxQueued } from '../../../src/mail/email-queue.ts'
import { checkMail } from '../../../src/operator/commands/doctor/check-mail.ts'
import { findFreePort } from '../../support/free-port.ts'
import { startScriptedRelay } from '../../support/servers/scripted-relay.ts'
import type { RelayFault, ScriptedRelay } from '../../support/servers/scripted-relay.ts'
import { createSelfSignedCertificate } from '../../support/servers/tls-certificate.ts'
import { createSignInEmail, createTestMailer } from './test-mailer.ts'

interface RelayCase {
  readonly name: string
  readonly fault?: RelayFault
  /** The address of the relay; by default with a user and a password, over loopback. */
  readonly url?: (relay: ScriptedRelay) => string
  readonly tls?: boolean
  readonly from?: string
}

const from = 'Example <no-reply@example.com>'
const fault = (step: RelayFault['step'], reply: string) => ({ fault: { step, reply } })
/** An address of this machine that counts as another machine's. */
const remoteHost = '0.0.0.0'

const cases: readonly RelayCase[] = [
  { name: 'takes the email' },
  { name: 'is not there: the connection is refused', url: () => `smtp://user:pass@127.0.0.1:${freePort}` },
  { name: 'has a name that does not resolve', url: () => 'smtp://user:pass@relay.invalid' },
  { name: 'closes each connection', ...fault('connect', 'close') },
  { name: 'accepts connections and sends nothing', ...fault('greeting', 'hang') },
  { name: 'greets with 421', ...fault('greeting', '421 4.3.2 too many connections') },
  { name: 'greets with 554', ...fault('greeting', '554 5.7.1 no service for you') },
  { name: 'refuses the password: 535', ...fault('AUTH', '535 5.7.8 authentication failed') },
  { name: 'cannot check the password: 454', ...fault('AUTH', '454 4.7.0 temporary authentication failure') },
  { name: 'offers no TLS for the password', url: ({ port }) => `smtp://user:pass@${remoteHost}:${port}` },
  { name: 'has a certificate of a private authority', url: ({ port }) => `smtp://user:pass@${remoteHost}:${port}`, tls: true },
  { name: 'refuses the sender: 550', ...fault('MAIL', '550 5.7.1 sender not allowed') },
  { name: 'defers the sender: 451', ...fault('MAIL', '451 4.3.0 try again later') },
  { name: 'greylists the recipient: 450', ...fault('RCPT', '450 4.7.1 greylisted') },
  { name: 'does not know the recipient: 550', ...fault('RCPT', '550 5.1.1 no such user') },
  { name: 'has no room for the recipient: 452', ...fault('RCPT', '452 4.2.2 mailbox full') },
  { name: 'closes the service at the recipient: 421', ...fault('RCPT', '421 4.3.2 shutting down') },
  { name: 'defers the content: 451', ...fault('content', '451 4.3.0 queue file write error') },
  { name: 'refuses the content: 554', ...fault('content', '554 5.6.0 looks like spam') },
  { name: 'takes the content and never answers', ...fault('content', 'hang') },
]

let freePort = 0
/** How long the fault lasts, in simulated time. */
const faultMs = 240_000
const stepMs = 5_000
const usefulMs = 3_600_000
/** Real time. A relay that answers may be slow on a busy machine; one that does not is to be given up soon. */
const answerTimeoutMs = 30_000
const hangTimeoutMs = 1_000

t.test('each answer of a relay has the outcome that the documents state', async (t) => {
  freePort = await findFreePort()
  const rows: string[][] = []
  for (const relayCase of cases) rows.push([relayCase.name, ...(await observe(t, relayCase))])
  t.equal(cases.length, 20)
  const table = formatTable(['The relay …', 'The email', 'Next member', '`/readyz`', 'Metric', '`doctor`'], rows)
  const document = new URL('../../../docs/email.md', import.meta.url)
  const text = readFileSync(document, 'utf8')
  const mark = '<!-- relay answers -->\n'
  const [before = '', documented = '', after = ''] = text.split(mark)
  if (process.env['WRITE_DOCUMENTS'] === '1') writeFileSync(document, [before, `\n${table}\n`, after].join(mark))
  else t.equal(documented, `\n${table}\n`)
})

async function observe(t: Test, relayCase: RelayCase): Promise<string[]> {
  const certificate = createSelfSignedCertificate(mkdtempSync(join(tmpdir(), 'relay-')))
  const tls = { cert: readFileSync(certificate.cert, 'utf8'), key: readFileSync(certificate.key, 'utf8') }
  const relay = await startScriptedRelay(t, relayCase.tls === true ? { tls } : {})
  relay.setFault(relayCase.fault ?? null)
  const commandTimeoutMs = relayCase.fault?.reply === 'hang' ? hangTimeoutMs : answerTimeoutMs
  const url = relayCase.url?.(relay) ?? `smtp://user:pass@127.0.0.1:${relay.port}`
  const { mailer, queue, lines, pass } = createTestMailer(t, { url, smtp: { from }, commandTimeoutMs })
  await mailer.enqueue(createSignInEmail('ada@example.com', { usefulMs }))
  await mailer.waitUntilIdle()
  const attempted = { ...mailer.stats.results }
  const [doctor] = await checkMail(
    {
      mail: { smtpUrl: url, from, allowPlaintextPassword: false },
      listen: { siteUrl: null },
      store: { dataDir: '.' },
      brand: { name: 'svc', slug: 'svc' },
    } as unknown as Parameters<typeof checkMail>[0],
    undefined,
    commandTimeoutMs,
  )
  // Before the next email is tried.
  const answer = await mailer.enqueue({ ...createSignInEmail('grace@example.com', { usefulMs }), to: null })
  await pass(0)
  let note = mailer.note
  let elapsedMs = 0
  for (; queue.waiting.count > 0 && elapsedMs < usefulMs + stepMs; elapsedMs += stepMs) {
    if (elapsedMs === faultMs) relay.setFault(null)
    await pass(stepMs)
    if (elapsedMs + stepMs === 65_000) note ??= mailer.note
  }
  const { results } = mailer.stats
  const attempts = results.sent + results.rejected + results.expired + results.unanswered + results.deferred
  const fate = emailResults.find((result) => result !== 'deferred' && results[result] > 0) ?? 'waiting'
  t.notMatch(lines.join(''), /ada@|123456|pass@/, relayCase.name)
  t.equal(relay.received.length, fate === 'sent' ? 1 : 0, relayCase.name)
  return [
    describeFate(fate, attempts, elapsedMs),
    answer === 'delayed' ? '"could not be sent yet"' : '"sent"',
    note === null ? '' : 'note',
    emailResults
      .filter((result) => attempted[result] > 0 || results[result] > 0)
      .map((result) => `\`${result}\``)
      .join(', '),
    doctor === undefined || doctor.ok ? 'ok' : sanitize(doctor.detail),
  ]
}

function describeFate(fate: string, attempts: number, elapsedMs: number): string {
  const minutes = Math.round(elapsedMs / 60_000)
  if (fate === 'sent') return attempts === 1 ? 'sent' : `sent at attempt ${attempts}, after ${minutes} min`
  if (fate === 'rejected') return 'not sent, no further attempt'
  return `given up after ${attempts} attempts in ${minutes} min`
}

function sanitize(detail: string): string {
  return detail
    .replace(/^[^:]+(?::\d+)?: /, '')
    .replaceAll(/127\.0\.0\.1:\d+|0\.0\.0\.0:\d+/g, 'HOST')
    .replace('EAI_AGAIN', 'ENOTFOUND')
    .replaceAll('|', '\\|')
}

function formatTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return [head, head.map(() => '---'), ...rows].map((row) => `| ${row.join(' | ')} |\n`).join('')
}

t.test('a flood of codes for strangers is one line a minute, and a full queue too', async (t) => {
  const relay = await startScriptedRelay(t)
  relay.setFault({ step: 'RCPT', reply: '550 5.1.1 no such user' })
  const { mailer, queue, lines, pass } = createTestMailer(t, { url: `smtp://127.0.0.1:${relay.port}` })
  // An email that is sent on a connection that was just being closed is deferred, and tried again after 10 s.
  const sendAll = async () => {
    await mailer.waitUntilIdle()
    for (let attempts = 0; queue.waiting.count > 0 && attempts < 5; attempts++) await pass(10_000)
  }
  const create = (name: string) => createSignInEmail(`${name}@example.com`, { priority: 'new_address_code' })
  const messages = () => lines.map((line) => JSON.parse(line)).filter(({ level }) => level !== 'info')
  await Promise.all(Array.from({ length: 300 }, (_, index) => mailer.enqueue(create(`stranger${index}`))))
  await sendAll()
  t.match(messages(), [{ level: 'warn', emails: 1, msg: 'an email was refused by the mail server' }])
  await pass(60_000)
  await mailer.enqueue(create('another'))
  await sendAll()
  t.match(messages().slice(1), [{ level: 'warn', emails: 300, msg: 'an email was refused by the mail server' }])
  relay.setFault({ step: 'greeting', reply: 'hang' })
  const late = Array.from({ length: maxQueued.new_address_code + 150 }, (_, index) => mailer.enqueue(create(`late${index}`)))
  t.equal((await Promise.all(late)).at(-1), 'new_addresses_paused')
  t.match(messages().slice(2), [{ level: 'warn', emails: 1, msg: 'an email was dropped: the queue is full' }])
  t.equal(mailer.stats.results.dropped, 150)
})

t.test('a password leaves this machine over TLS only, unless that is configured', async (t) => {
  for (const [host, allowPlaintextPassword, isSent] of [
    [remoteHost, false, false],
    [remoteHost, true, true],
    ['127.0.0.1', false, true],
    ['localhost', false, true],
  ] as const) {
    const relay = await startScriptedRelay(t)
    const url = `smtp://user:secret@${host}:${relay.port}`
    const { mailer } = createTestMailer(t, { url, smtp: { allowPlaintextPassword } })
    await mailer.enqueue(createSignInEmail('ada@example.com'))
    await mailer.waitUntilIdle()
    t.equal(
      relay.commands.some((command) => command.startsWith('AUTH')),
      isSent,
      `${host} ${allowPlaintextPassword}`,
    )
    t.equal(relay.received.length, isSent ? 1 : 0)
  }
})

t.test('emails name a host with a dot and are marked as generated', async (t) => {
  for (const [siteHost, sender, name] of [
    ['svc.example', 'no-reply@mail.example', 'svc.example'],
    [null, 'no-reply@mail.example', 'mail.example'],
    ['localhost', 'no-reply@mail.example', 'mail.example'],
    ['192.0.2.1', 'no-reply@mail.example', 'mail.example'],
  ] as const) {
    const relay = await startScriptedRelay(t)
    const { mailer } = createTestMailer(t, { url: `smtp://127.0.0.1:${relay.port}`, smtp: { siteHost, from: `svc <${sender}>` } })
    await mailer.enqueue(createSignInEmail('ada@example.com'))
    await mailer.waitUntilIdle()
    t.same(relay.heloNames, [name])
    t.match(relay.received, [/^Auto-Submitted: auto-generated$/m])
  }
})

t.test('doctor names a sender to which no server can answer beside a relay', async (t) => {
  const relay = await startScriptedRelay(t)
  const check = (host: string, from: string) =>
    checkMail({
      mail: { smtpUrl: `smtp://${host}:${relay.port}`, from, allowPlaintextPassword: false },
      listen: { siteUrl: null },
      store: { dataDir: '.' },
      brand: { name: 'svc', slug: 'svc' },
    } as unknown as Parameters<typeof checkMail>[0])
  t.match(await check(remoteHost, 'svc <no-reply@localhost>'), [
    { what: 'mail', ok: true },
    { what: 'mail sender', ok: false, detail: /MAIL_FROM/ },
  ])
  t.match(await check('127.0.0.1', 'svc <no-reply@localhost>'), [{ what: 'mail', ok: true }])
  t.match(await check(remoteHost, 'no-reply@example.com'), [{ what: 'mail', ok: true }])
  t.ok(relay.commands.includes('MAIL FROM:<no-reply@example.com>'))
  t.notOk(relay.commands.some((command) => command.startsWith('RCPT')))
})
