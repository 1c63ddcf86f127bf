/** The queue of one process: the order of sending, room for each priority and recipient, retries, and the next start. */
import { mkdtempSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { maxQueued, maxQueuedPerRecipient } from '../../../src/mail/email-queue.ts'
import { LocalEmailQueue } from '../../../src/mail/local-email-queue.ts'
import type { Email, EmailPriority } from '../../../src/mail/email-queue.ts'
import { findRetryDelay } from '../../../src/mail/retry-delay.ts'
import { createMovableClock } from '../../support/gateway/movable-clock.ts'
import { startScriptedRelay } from '../../support/servers/scripted-relay.ts'
import { createSignInEmail, createTestMailer } from './test-mailer.ts'

const createEmail = (priority: EmailPriority, to = `${priority}@example.com`): Email => ({
  to,
  priority,
  usefulMs: 3_600_000,
  kind: 'code',
  subject: 'Your code',
  text: 'It is 123456.',
  html: '',
})

t.test('hands out members’ codes first, notices last', async (t) => {
  const queue = new LocalEmailQueue({ clock: createMovableClock().clock })
  for (const priority of ['notice', 'new_address_code', 'member_code'] as const) await queue.enqueue(createEmail(priority))
  t.equal((await queue.claim())?.email.priority, 'member_code')
  t.equal(await queue.claim({ memberCodesOnly: true }), undefined)
  t.equal((await queue.claim())?.email.priority, 'new_address_code')
  t.equal((await queue.claim())?.email.priority, 'notice')
  t.equal(await queue.claim(), undefined)
})

t.test('a full priority refuses its own emails and no others', async (t) => {
  const queue = new LocalEmailQueue({ clock: createMovableClock().clock })
  for (let i = 0; i < maxQueued.new_address_code; i++)
    await queue.enqueue(createEmail('new_address_code', `stranger${i}@example.com`))
  t.same(await queue.enqueue(createEmail('new_address_code')), {
    isQueued: false,
    hasReplaced: false,
    full: ['new_address_code'],
  })
  t.same(await queue.enqueue(createEmail('member_code')), { isQueued: true, hasReplaced: false, full: ['new_address_code'] })
  t.equal((await queue.claim())?.email.to, 'member_code@example.com')
})

t.test('an email that waits for its retry still takes room', async (t) => {
  const queue = new LocalEmailQueue({ clock: createMovableClock().clock })
  for (let i = 0; i < maxQueued.notice; i++) await queue.enqueue(createEmail('notice', `member${i}@example.com`))
  const claimed = await queue.claim()
  if (claimed !== undefined) await queue.retryLater(claimed, 60_000)
  t.equal((await queue.enqueue(createEmail('notice'))).isQueued, false)
  t.equal(queue.pendingCount, maxQueued.notice - 1)
})

t.test('one address fills no more than its share, and its newest emails take the place of its oldest', async (t) => {
  const queue = new LocalEmailQueue({ clock: createMovableClock().clock })
  const add = (priority: EmailPriority, subject: string, to = 'ada@example.com') =>
    queue.enqueue({ ...createEmail(priority, to), subject })
  const claimSubjects = async () => {
    const subjects: string[] = []
    for (let claimed = await queue.claim(); claimed !== undefined; claimed = await queue.claim())
      subjects.push(claimed.email.subject)
    return subjects
  }
  for (let i = 0; i < maxQueuedPerRecipient; i++)
    t.same(await add('notice', `notice ${i}`), { isQueued: true, hasReplaced: false, full: [] })
  const replaced = { isQueued: true, hasReplaced: true, full: [] }
  t.same(await add('member_code', 'code 0'), replaced, 'a code takes the place of a notice')
  t.same(await add('member_code', 'code 1'), replaced, 'and of an older code before that of a further notice')
  t.same(await add('notice', 'notice 20'), replaced)
  t.same(await add('notice', 'notice of another', 'grace@example.com'), { isQueued: true, hasReplaced: false, full: [] })
  t.equal(queue.waiting.count, maxQueuedPerRecipient + 1)
  t.equal(queue.pendingCount, maxQueuedPerRecipient + 1)
  t.same(await claimSubjects(), [
    'code 1',
    ...Array.from({ length: maxQueuedPerRecipient - 1 }, (_, i) => `notice ${i + 2}`),
    'notice of another',
  ])
})

t.test('a notice takes the place of no code', async (t) => {
  const queue = new LocalEmailQueue({ clock: createMovableClock().clock })
  for (let i = 0; i < maxQueuedPerRecipient; i++) await queue.enqueue(createEmail('member_code', 'ada@example.com'))
  t.same(await queue.enqueue(createEmail('notice', 'ada@example.com')), { isQueued: false, hasReplaced: false, full: [] })
})

t.test('an email that is being sent while a newer one takes its place is not kept for a further attempt', async (t) => {
  const queue = new LocalEmailQueue({ clock: createMovableClock().clock })
  for (let i = 0; i < maxQueuedPerRecipient; i++) await queue.enqueue(createEmail('member_code', 'ada@example.com'))
  const claimed = await queue.claim()
  t.match(await queue.enqueue(createEmail('member_code', 'ada@example.com')), { hasReplaced: true })
  if (claimed !== undefined) t.equal(await queue.retryLater(claimed, 0), true)
  t.equal(queue.waiting.count, maxQueuedPerRecipient)
})

t.test('an email is tried after 10 s, 1, 5 and 15 minutes, and more often before it expires', async (t) => {
  const hourMs = 3_600_000
  t.same(
    [1, 2, 3, 4, 5].map((attempt) => findRetryDelay(attempt, hourMs)),
    [10_000, 60_000, 300_000, 900_000, 900_000],
  )
  const delays: number[] = []
  let remainingMs = 300_000
  for (let attempt = 1; ; attempt += 1) {
    const delayMs = findRetryDelay(attempt, remainingMs)
    if (delayMs === null) break
    delays.push(delayMs / 1000)
    remainingMs -= delayMs
  }
  t.same(delays.map(Math.round), [10, 60, 115, 58, 29, 14])
})

t.test('the next start sends the emails that wait, as long as they are of use', async (t) => {
  const relay = await startScriptedRelay(t)
  const spoolFolder = join(mkdtempSync(join(tmpdir(), 'waiting-emails-')), 'waiting-emails')
  const clock = createMovableClock()
  const options = { url: `smtp://127.0.0.1:${relay.port}`, spoolFolder, clock }
  relay.setFault({ step: 'RCPT', reply: '450 4.7.1 greylisted' })
  const first = createTestMailer(t, options)
  await first.mailer.enqueue(createSignInEmail('link@example.com'))
  await first.mailer.enqueue(createSignInEmail('code@example.com', { usefulMs: 300_000 }))
  await first.mailer.enqueue(createSignInEmail(null))
  await first.mailer.waitUntilIdle()
  await first.mailer.close()
  const files = readdirSync(spoolFolder)
  t.equal(files.length, 2)
  for (const name of files) {
    const path = join(spoolFolder, name)
    t.notMatch(readFileSync(path).toString('latin1'), /example|123456|wwww/)
    t.equal(statSync(path).mode & 0o777, 0o600)
  }
  writeFileSync(join(spoolFolder, '99.email'), 'damaged')
  relay.setFault(null)
  clock.advance(300_000)
  const second = createTestMailer(t, options)
  await second.mailer.waitUntilIdle()
  t.match(relay.received, [/^To: link@example.com$/m])
  t.equal(relay.received.length, 1, 'the code has expired')
  t.match(second.mailer.stats.results, { sent: 1, expired: 1 })
  await second.mailer.close()
  t.same(readdirSync(spoolFolder), [])
})
