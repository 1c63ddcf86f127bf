/** Emails go to a real SMTP server or to a folder, and no request waits for them. */
import { once } from 'node:events'
import { mkdtempSync, readdirSync, statSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import t from 'tap'
import { WebsiteClient, readEmailsTo } from '../../support/gateway/website-client.ts'
import { startGateway, waitUntil } from '../../support/gateway/test-gateway.ts'
import { startSmtpServer } from '../../support/servers/smtp-server.ts'
import { createSignInEmail, createTestMailer } from './test-mailer.ts'

t.test('sends the code through a real SMTP server, and the code signs in', async (t) => {
  const { url, received } = await startSmtpServer(t)
  const gateway = await startGateway(t, { mail: { smtpUrl: url, from: 'Gateway <gate@example.com>' } })
  const browser = new WebsiteClient(gateway)
  t.match(await browser.post('auth/otp/start', { email: 'reader@example.com' }), { status: 200, body: { sent: true } })
  await waitUntil(() => received.length === 1, 'the email')
  const [email] = received
  t.match(email, { from: 'gate@example.com', to: ['reader@example.com'] })
  const plain = decode(email?.text ?? '')
  t.match(plain, /^Subject: .+/m)
  const code = /^\s{4}(\d{6})\s*$/m.exec(plain)?.[1] ?? ''
  t.equal((await browser.post('auth/otp/verify', { email: 'reader@example.com', code })).status, 200)
  t.same(readEmailsTo(gateway, 'reader@example.com'), [], 'no file was written')
  t.notOk(gateway.log.join('').includes(code), 'the log does not contain the code')
  t.notOk(gateway.log.join('').includes('reader@example.com'), 'the log does not contain the address')
})

t.test('retries an email after a temporary refusal', async (t) => {
  const { url, received } = await startSmtpServer(t, { temporaryFailures: 1 })
  const { mailer, pass } = createTestMailer(t, { url })
  await mailer.enqueue(createSignInEmail('a@example.com'))
  await mailer.waitUntilIdle()
  t.equal(received.length, 0)
  await pass(10_000)
  t.equal(received.length, 1)
  t.equal((received[0]?.text.match(/^Subject:/gm) ?? []).length, 1)
})

t.test('sends nothing and logs nothing for an email without a recipient', async (t) => {
  const { url, received } = await startSmtpServer(t)
  const { mailer, lines } = createTestMailer(t, { url })
  await mailer.enqueue(createSignInEmail(null, { priority: 'new_address_code' }))
  await mailer.enqueue(createSignInEmail('a@example.com', { priority: 'member_code' }))
  await mailer.waitUntilIdle()
  t.same(
    received.map(({ to }) => to),
    [['a@example.com']],
  )
  t.same(
    lines.map((line) => JSON.parse(line).msg),
    ['an email was sent'],
  )
})

t.test('an email that waits for its retry delays no other, and ends with a process that has no folder for it', async (t) => {
  const { url, received } = await startSmtpServer(t, { refusedRecipient: 'a@example.com' })
  const { mailer, lines } = createTestMailer(t, { url })
  for (const to of ['a@example.com', 'a@example.com', 'b@example.com'])
    await mailer.enqueue(createSignInEmail(to, { priority: 'member_code' }))
  await waitUntil(() => received.length === 1, 'the one that is taken')
  await mailer.close()
  t.same(
    received.map(({ to }) => to),
    [['b@example.com']],
  )
  t.same(lines.map((line) => JSON.parse(line).msg).toSorted(), [
    'an email could not be sent yet; it is tried again',
    'an email was sent',
  ])
  t.notMatch(lines.join(''), /example\.com|123456/)
})

t.test('recipients for which the server does not answer delay other emails only briefly', async (t) => {
  const taken: string[] = []
  const server = createServer((socket) => {
    let isLetter = false
    socket.on('error', () => undefined)
    socket.write('220 here\r\n')
    createInterface({ input: socket }).on('line', (line) => {
      if (isLetter && line !== '.') return
      // Like a server that queries another one about the recipient and gets no answer.
      if (line.startsWith('RCPT TO:<slow')) return
      if (line.startsWith('RCPT TO:')) taken.push(line)
      isLetter = line === 'DATA'
      socket.write(isLetter ? '354 go on\r\n' : '250 ok\r\n')
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const { mailer } = createTestMailer(t, {
    url: `smtp://127.0.0.1:${(server.address() as AddressInfo).port}`,
    commandTimeoutMs: 300,
  })
  // One more than are sent at once.
  for (const name of ['slow1', 'slow2', 'slow3', 'slow4', 'quick'])
    await mailer.enqueue(createSignInEmail(`${name}@example.com`, { priority: 'member_code' }))
  await waitUntil(() => taken.length > 0, 'the last email')
  t.match(taken, [/^RCPT TO:<quick@example\.com>/])
  await mailer.close(10)
})

t.test('sends members’ codes while recipients that strangers chose keep the server waiting', async (t) => {
  const { url, received, pauseReplies, pendingRecipients } = await startSmtpServer(t)
  const answerAll = pauseReplies()
  const { mailer } = createTestMailer(t, { url })
  for (let i = 0; i < 10; i++) await mailer.enqueue(createSignInEmail(`new${i}@example.com`, { priority: 'new_address_code' }))
  await waitUntil(() => pendingRecipients.length === 2, 'the strangers’ connections to be in use')
  await mailer.enqueue(createSignInEmail('member@example.com', { priority: 'member_code' }))
  await waitUntil(() => pendingRecipients.includes('member@example.com'), 'the member’s code to be sent')
  t.equal(pendingRecipients.length, 3, 'no third email of a stranger')
  answerAll()
  await mailer.waitUntilIdle()
  t.equal(received.length, 11)
})

t.test('sends many emails over few connections', async (t) => {
  const { url, received, countConnections } = await startSmtpServer(t)
  const { mailer } = createTestMailer(t, { url })
  for (let i = 0; i < 50; i++) await mailer.enqueue(createSignInEmail(`a${i}@example.com`, { priority: 'member_code' }))
  await mailer.waitUntilIdle()
  t.equal(received.length, 50)
  t.ok(countConnections() <= 4, `${countConnections()} connections`)
})

t.test('opens a new connection after the server has closed an unused one', async (t) => {
  const { url, received, closeConnections } = await startSmtpServer(t)
  const { mailer } = createTestMailer(t, { url })
  for (const to of ['a@example.com', 'b@example.com']) {
    await mailer.enqueue(createSignInEmail(to, { priority: 'member_code' }))
    await waitUntil(() => received.at(-1)?.to[0] === to, to)
    await mailer.waitUntilIdle()
    closeConnections()
  }
  t.equal(received.length, 2)
})

t.test('an unreachable server does not delay the request', async (t) => {
  const gateway = await startGateway(t, { mail: { smtpUrl: 'smtp://127.0.0.1:1' } })
  const answer = await new WebsiteClient(gateway).post('auth/otp/start', { email: 'reader@example.com' })
  t.match(answer, { status: 200, body: { sent: true, delayed: false } }, 'the response is the same')
  await waitUntil(() => gateway.log.some((line) => line.includes('could not be sent yet')), 'the log to tell')
  const second = await new WebsiteClient(gateway).post('auth/otp/start', { email: 'other@example.com' })
  t.match(second, { status: 200, body: { sent: true, delayed: true } }, 'the next member reads what is known')
  const ready = await fetch(`${gateway.url}/readyz`)
  t.equal(ready.status, 200)
  t.match(await ready.json(), { ok: true, notes: [/^mail: emails are not being sent \(\d waits?, the oldest for /] })
  const metrics = await gateway.services.telemetry.metricsText()
  t.match(metrics, /^svc_emails_total\{outcome="deferred"\} [12]$/m)
  t.match(metrics, /^svc_emails_waiting [12]$/m)
  t.match(metrics, /^svc_emails_oldest_waiting_seconds [\d.]+$/m)
})

t.test('without a server, writes complete files that only their owner can read', async (t) => {
  const outbox = join(mkdtempSync(join(tmpdir(), 'outbox-')), 'outbox')
  const { mailer } = createTestMailer(t, { url: null, outbox })
  for (let i = 0; i < 5; i++) {
    await mailer.enqueue(createSignInEmail(`a${i}@example.com`))
  }
  await mailer.waitUntilIdle()
  const files = readdirSync(outbox)
  t.equal(files.length, 5)
  t.ok(files.every((name) => name.endsWith('.eml')))
  t.equal(statSync(join(outbox, files[0] ?? '')).mode & 0o777, 0o600)
  t.equal(statSync(outbox).mode & 0o777, 0o700)
})

t.test('an address cannot inject a header or a second recipient', async (t) => {
  const gateway = await startGateway(t)
  const browser = new WebsiteClient(gateway)
  for (const email of [
    'a@example.com\r\nBcc: b@example.com',
    'a@example.com, b@example.com',
    '"a b"@example.com',
    '<a@example.com>',
    'a@example.com\0',
    'a＠example.com',
    'a@b@example.com',
    'a@example',
    '@example.com',
    'a@-example.com',
    `${'a'.repeat(65)}@example.com`,
    `a@${'b'.repeat(260)}.com`,
  ]) {
    const answer = await browser.post('auth/otp/start', { email })
    t.match(
      answer,
      { status: 400, body: { code: 'invalid_request', error: { param: 'email' } } },
      JSON.stringify(email).slice(0, 60),
    )
  }
})

/** Decodes digits and line ends of quoted-printable, and base64 bodies. */
function decode(email: string): string {
  const [head = '', body = ''] = email.split(/\r?\n\r?\n(.*)/s)
  const text = /base64/i.test(head) ? Buffer.from(body, 'base64').toString('utf8') : body
  return `${head}\n\n${text.replaceAll(/=\r?\n/g, '')}`
}
