/** Emails through a real Postfix with SASL, TLS and greylisting. */
import { execFile } from 'node:child_process'
import { chmodSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { checkoutRoot } from '../../support/processes/server-process.ts'
import { startPostfix } from '../../support/servers/postfix.ts'
import { startSmtpServer } from '../../support/servers/smtp-server.ts'
import { createSelfSignedCertificate } from '../../support/servers/tls-certificate.ts'
import { createTemporaryFolder } from '../../support/temporary-folder.ts'
import { waitUntil } from '../../support/wait-until.ts'
import { createSignInEmail, createTestMailer } from './test-mailer.ts'

const account = { user: 'gateway', password: 'correct horse' }
const from = 'Example <no-reply@example.com>'

t.test('Postfix relays an email after its greylisting, and none for a wrong password', async (t) => {
  const nextHop = await startSmtpServer(t)
  const postfix = await startPostfix(t, { ...account, nextHopPort: Number(new URL(nextHop.url).port) })
  if (postfix === undefined) return
  const toUrl = (password: string) => `smtp://${account.user}:${encodeURIComponent(password)}@127.0.0.1:${postfix.port}`

  postfix.setGreylisting(true)
  const { mailer, lines, pass } = createTestMailer(t, { url: toUrl(account.password), smtp: { from } })
  t.equal(await mailer.enqueue(createSignInEmail('ada@example.com')), 'queued')
  await mailer.waitUntilIdle()
  await pass(10_000)
  t.match(mailer.stats, { results: { deferred: 2, sent: 0 }, waiting: 1 })
  t.match(lines, [/EENVELOPE 450 4\.7\.1/])
  postfix.setGreylisting(false)
  await pass(59_000)
  t.equal(mailer.stats.results.sent, 0)
  await pass(1_000)
  t.match(mailer.stats.results, { deferred: 2, sent: 1 })
  await waitUntil(() => nextHop.received.length === 1, 'Postfix to pass the email on')
  t.match(nextHop.received, [{ from: 'no-reply@example.com', to: ['ada@example.com'], text: /^Auto-Submitted: auto-generated/m }])
  t.match(nextHop.received[0]?.text, /\(HELO|from example\.com/)

  const wrong = createTestMailer(t, { url: toUrl('wrong'), smtp: { from } })
  await wrong.mailer.enqueue(createSignInEmail('ada@example.com'))
  await wrong.mailer.waitUntilIdle()
  t.match(wrong.lines, [/EAUTH 535 5\.7\.8/])
  t.equal(await wrong.mailer.enqueue(createSignInEmail('grace@example.com')), 'delayed')
  t.match(wrong.mailer.note, /emails are not being sent/)
})

t.test('doctor names the remedy for a private certificate, and the remedy works', async (t) => {
  const folder = createTemporaryFolder(t, '/tmp')
  chmodSync(folder, 0o755)
  const { cert, key } = createSelfSignedCertificate(folder)
  const postfix = await startPostfix(t, { ...account, nextHopPort: 9, tls: { cert, key } })
  if (postfix === undefined) return
  const environment = {
    PATH: process.env['PATH'] ?? '',
    DATA_DIR: join(folder, 'data'),
    SMTP_URL: `smtp://${account.user}:${encodeURIComponent(account.password)}@127.0.0.1:${postfix.port}`,
    MAIL_FROM: from,
  }
  const examine = async (extra: Readonly<Record<string, string>>) => {
    const { promise, resolve } = Promise.withResolvers<string>()
    const command = [join(checkoutRoot, 'bin/svc-gateway.js'), 'doctor', '--json']
    execFile(process.execPath, command, { env: { ...environment, ...extra } }, (_, stdout) => resolve(stdout))
    const { findings } = JSON.parse(await promise) as { readonly findings: readonly { readonly what: string }[] }
    return findings.find(({ what }) => what === 'mail')
  }
  t.match(await examine({}), { ok: false, detail: /private authority.*NODE_EXTRA_CA_CERTS/ })
  t.match(await examine({ NODE_EXTRA_CA_CERTS: cert }), { ok: true, detail: /takes our sign-in and the sender/ })
})
