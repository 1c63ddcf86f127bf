/** Emails while the mail server refuses, is silent or away: when they are tried again, and when they are given up. */
import t from 'tap'
import { LocalEmailQueue } from '../../src/mail/local-email-queue.ts'
import { Mailer } from '../../src/mail/mailer.ts'
import type { EmailTransport } from '../../src/mail/smtp/smtp-transport.ts'
import { createLog } from '../../src/observability/log.ts'
import { createIds } from '../../src/system/ids.ts'
import { noon } from '../support/gateway/test-exchange.ts'
import { SimulatedClock } from '../support/simulated-clock.ts'
import type { Email } from '../../src/mail/email-queue.ts'

const minuteMs = 60_000
const temporary = () =>
  Object.assign(new Error('450 try again later'), { code: 'EENVELOPE', responseCode: 450, command: 'RCPT TO' })
const permanent = () => Object.assign(new Error('550 no such user'), { code: 'EENVELOPE', responseCode: 550, command: 'RCPT TO' })
const away = () => Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNECTION', command: 'CONN' })

interface Attempt {
  readonly to: string
  readonly atMs: number
}

function openMail(answerTo: (attempt: Attempt, count: number) => Promise<void> | void) {
  const clock = new SimulatedClock({ now: noon, monotonicMs: 0 })
  const attempts: Attempt[] = []
  const transport: EmailTransport = {
    async send({ to }) {
      const attempt = { to, atMs: clock.activeMs() }
      attempts.push(attempt)
      await answerTo(attempt, attempts.filter((each) => each.to === to).length)
    },
    verify: async () => undefined,
    close: () => undefined,
  }
  const mailer = new Mailer({
    mail: { smtp: null, from: 'svc <no-reply@example.com>', outbox: '' },
    log: createLog('silent', { write: () => undefined }).log,
    ids: createIds(),
    clock,
    queue: new LocalEmailQueue({ clock }),
    transport,
  })
  return { clock, mailer, attempts }
}

const email = (to: string, { usefulMs = 60 * minuteMs, priority = 'member_code' }: Partial<Email> = {}): Email => ({
  to,
  priority,
  usefulMs,
  kind: 'code',
  subject: 'Sign in',
  text: 'A code',
  html: '<p>A code',
})

t.test('a temporary refusal is tried again after growing delays, and for as long as the email is of use', async (t) => {
  const { clock, mailer, attempts } = openMail(() => {
    throw temporary()
  })
  await mailer.enqueue(email('a@example.com'))
  await clock.run(90 * minuteMs)
  const seconds = attempts.map(({ atMs }) => Math.round(atMs / 1_000))
  t.same(seconds.slice(0, 4), [0, 10, 70, 370])
  t.ok(
    seconds.every((at) => at < 3_600),
    seconds.join(),
  )
  t.match(mailer.stats, { results: { sent: 0, expired: 1 }, waiting: 0 })
})

t.test('an email that was refused for good is not tried again', async (t) => {
  const { clock, mailer, attempts } = openMail(() => {
    throw permanent()
  })
  await mailer.enqueue(email('a@example.com'))
  await clock.run(60 * minuteMs)
  t.equal(attempts.length, 1)
  t.match(mailer.stats.results, { rejected: 1 })
})

t.test('an email is sent by its next attempt, and no other waits for it', async (t) => {
  const { clock, mailer, attempts } = openMail(({ to }, count) => {
    if (to.startsWith('late') && count === 1) throw temporary()
  })
  for (const to of ['late@example.com', 'b@example.com']) await mailer.enqueue(email(to))
  await clock.run(1_000)
  t.same(
    attempts.map(({ to }) => to),
    ['late@example.com', 'b@example.com'],
  )
  t.equal(mailer.stats.results.sent, 1)
  await clock.run(11_000)
  t.match(mailer.stats, { results: { sent: 2, deferred: 1 }, waiting: 0 })
})

t.test('a server that is away is reported after the first failure, until an email is sent', async (t) => {
  let isAway = true
  const { clock, mailer } = openMail(() => {
    if (isAway) throw away()
  })
  t.equal(await mailer.enqueue(email('a@example.com')), 'queued')
  await clock.run(1_000)
  t.match(mailer.note, /emails are not being sent \(1 waits, the oldest for 1\.0 s\)/)
  t.equal(await mailer.enqueue(email('b@example.com')), 'delayed')
  isAway = false
  await clock.run(2 * minuteMs)
  t.equal(mailer.note, null)
  t.match(mailer.stats, { results: { sent: 2 }, waiting: 0 })
})

t.test('recipients that strangers chose keep no member’s code waiting', async (t) => {
  const { clock, mailer, attempts } = openMail(({ to }) => (to.startsWith('stranger') ? clock.wait(30 * minuteMs) : undefined))
  for (let count = 0; count < 6; count++)
    await mailer.enqueue(email(`stranger${count}@example.com`, { priority: 'new_address_code' }))
  await clock.run(1_000)
  t.equal(attempts.length, 2)
  await mailer.enqueue(email('member@example.com'))
  await clock.run(1_000)
  t.equal(attempts.at(-1)?.to, 'member@example.com')
  t.equal(mailer.stats.results.sent, 1)
  await clock.run(31 * minuteMs)
})

t.test('an email that expires while the machine stands still is not sent', async (t) => {
  const { clock, mailer, attempts } = openMail((_, count) => {
    if (count === 1) throw temporary()
  })
  await mailer.enqueue(email('a@example.com', { usefulMs: 10 * minuteMs }))
  await clock.run(1_000)
  clock.skip(11 * minuteMs)
  await clock.run(minuteMs)
  t.equal(attempts.length, 1)
  t.match(mailer.stats.results, { expired: 1 })
})
