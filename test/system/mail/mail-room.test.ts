/** Letters leave by a real SMTP server, or to a folder; and nobody waits for them. */
import { once } from 'node:events'
import { mkdtempSync, readdirSync, statSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import t from 'tap'
import type { Test } from 'tap'
import { createIds } from '../../../src/system/ids.ts'
import { MailRoom } from '../../../src/system/mail/mail-room.ts'
import { letterMessage } from '../../../src/system/mail/messages.ts'
import { createLog } from '../../../src/system/observe/log.ts'
import { Browser, lettersTo } from '../../support/browser.ts'
import { startGateway, until } from '../../support/gateway.ts'
import { startSmtp } from '../../support/smtp.ts'

t.test('a real SMTP server receives the code, and the code signs in', async (t) => {
  const { url, received } = await startSmtp(t)
  const gateway = await startGateway(t, { mail: { smtpUrl: url, from: 'Gateway <gate@example.com>' } })
  const browser = new Browser(gateway)
  t.match(await browser.post('auth/otp/start', { email: 'reader@example.com' }), { status: 200, body: { sent: true } })
  await until(() => received.length === 1, 'the letter')
  const [letter] = received
  t.match(letter, { from: 'gate@example.com', to: ['reader@example.com'] })
  const plain = decode(letter?.text ?? '')
  t.match(plain, /^Subject: .+/m)
  const code = /^\s{4}(\d{6})\s*$/m.exec(plain)?.[1] ?? ''
  t.equal((await browser.post('auth/otp/verify', { email: 'reader@example.com', code })).status, 200)
  t.same(lettersTo(gateway, 'reader@example.com'), [], 'no file was written')
  t.notOk(gateway.log.join('').includes(code), 'the log has no code')
  t.notOk(gateway.log.join('').includes('reader@example.com'), 'nor the address')
})

t.test('a letter that is refused for now is sent again', async (t) => {
  const { url, received } = await startSmtp(t, { refuse: 1 })
  const room = roomTo(t, url)
  room.post({ to: 'a@example.com', ...letterMessage({ name: 'svc', site: 'http://localhost' }, '123456', 'w'.repeat(43)) })
  await room.settled()
  t.equal(received.length, 1)
  t.equal((received[0]?.text.match(/^Subject:/gm) ?? []).length, 1)
})

t.test('who is nobody is written nothing, and no line is logged of it', async (t) => {
  const { url, received } = await startSmtp(t)
  const lines: string[] = []
  const room = roomTo(t, url, '', lines)
  const message = letterMessage({ name: 'svc', site: 'http://localhost' }, '123456', 'w'.repeat(43))
  await room.post({ to: null, ...message })
  await room.post({ to: 'a@example.com', ...message })
  await room.settled()
  t.same(
    received.map(({ to }) => to),
    [['a@example.com']],
  )
  t.same(
    lines.map((line) => JSON.parse(line).msg),
    ['a mail was sent'],
  )
})

t.test('a letter that waits to be tried again keeps no other waiting, and is given up where the room closes', async (t) => {
  const { url, received } = await startSmtp(t, { refuseTo: 'a@example.com' })
  const lines: string[] = []
  const room = roomTo(t, url, '', lines)
  const message = letterMessage({ name: 'svc', site: 'http://localhost' }, '123456', 'w'.repeat(43))
  for (const to of ['a@example.com', 'a@example.com', 'b@example.com']) await room.post({ to, ...message })
  await until(() => received.length === 1, 'the one that is taken')
  await room.close()
  t.same(
    received.map(({ to }) => to),
    [['b@example.com']],
  )
  t.same(
    lines.map((line) => JSON.parse(line).msg),
    ['a mail was sent', 'a mail could not be sent', 'a mail could not be sent'],
  )
  t.notMatch(lines.join(''), /example\.com|123456/)
})

t.test('recipients over whom the server says nothing keep no other letter waiting for long', async (t) => {
  const taken: string[] = []
  const server = createServer((socket) => {
    let isLetter = false
    socket.on('error', () => undefined)
    socket.write('220 here\r\n')
    createInterface({ input: socket }).on('line', (line) => {
      if (isLetter && line !== '.') return
      // As one that asks another server about the recipient, and is not answered.
      if (line.startsWith('RCPT TO:<slow')) return
      if (line.startsWith('RCPT TO:')) taken.push(line)
      isLetter = line === 'DATA'
      socket.write(isLetter ? '354 go on\r\n' : '250 ok\r\n')
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const room = roomTo(t, `smtp://127.0.0.1:${(server.address() as AddressInfo).port}`, '', [], 300)
  const message = letterMessage({ name: 'svc', site: 'http://localhost' }, '123456', 'w'.repeat(43))
  // As many as are sent at once, and one.
  for (const name of ['slow1', 'slow2', 'quick']) await room.post({ to: `${name}@example.com`, ...message })
  await until(() => taken.length > 0, "the third one's letter")
  t.match(taken, [/^RCPT TO:<quick@example\.com>/])
  await room.close(10)
})

t.test('a server that is not there costs the asker nothing', async (t) => {
  const gateway = await startGateway(t, { mail: { smtpUrl: 'smtp://127.0.0.1:1' } })
  const answer = await new Browser(gateway).post('auth/otp/start', { email: 'reader@example.com' })
  t.match(answer, { status: 200, body: { sent: true } }, 'the answer is the same')
  await until(() => gateway.log.some((line) => line.includes('could not be sent')), 'the log to tell')
})

t.test('without a server, letters are whole files that only their owner can read', async (t) => {
  const outbox = join(mkdtempSync(join(tmpdir(), 'outbox-')), 'outbox')
  const room = roomTo(t, null, outbox)
  for (let i = 0; i < 5; i++) {
    room.post({ to: `a${i}@example.com`, ...letterMessage({ name: 'svc', site: 'http://localhost' }, '123456', 'w'.repeat(43)) })
  }
  await room.settled()
  const files = readdirSync(outbox)
  t.equal(files.length, 5)
  t.ok(files.every((name) => name.endsWith('.eml')))
  t.equal(statSync(join(outbox, files[0] ?? '')).mode & 0o777, 0o600)
  t.equal(statSync(outbox).mode & 0o777, 0o700)
})

t.test('an address cannot smuggle a header or a second recipient', async (t) => {
  const gateway = await startGateway(t)
  const browser = new Browser(gateway)
  for (const email of [
    'a@example.com\r\nBcc: b@example.com',
    'a@example.com, b@example.com',
    '"a b"@example.com',
    '<a@example.com>',
    'a@example.com\0',
    'a＠example.com',
    'a@еxample.com',
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

function roomTo(t: Test, smtpUrl: string | null, outbox = '', lines: string[] = [], takingMs?: number): MailRoom {
  const room = new MailRoom({
    smtpUrl,
    from: 'svc <no-reply@localhost>',
    outbox,
    log: createLog('info', { write: (line) => void lines.push(line) }).log,
    ids: createIds(),
    clock: { now: () => Date.now() },
    ...(takingMs === undefined ? {} : { takingMs }),
  })
  t.teardown(() => room.close())
  return room
}

/** Quoted-printable, as far as digits and line ends are concerned; base64 bodies are decoded. */
function decode(letter: string): string {
  const [head = '', body = ''] = letter.split(/\r?\n\r?\n(.*)/s)
  const text = /base64/i.test(head) ? Buffer.from(body, 'base64').toString('utf8') : body
  return `${head}\n\n${text.replaceAll(/=\r?\n/g, '')}`
}
