/** The queue in memory: the order of sending, and room of its own for each priority. */
import t from 'tap'
import { InMemoryEmailQueue, maxQueued } from '../../src/mail/email-queue.ts'
import type { Email, EmailPriority } from '../../src/mail/email-queue.ts'

const createEmail = (priority: EmailPriority, to = `${priority}@example.com`): Email => ({
  to,
  priority,
  kind: 'code',
  subject: 'Your code',
  text: 'It is 123456.',
  html: '',
})

t.test('hands out members’ codes first, notices last', async (t) => {
  const queue = new InMemoryEmailQueue()
  for (const priority of ['notice', 'new_address_code', 'member_code'] as const) await queue.enqueue(createEmail(priority))
  t.equal((await queue.claim())?.email.priority, 'member_code')
  t.equal(await queue.claim({ memberCodesOnly: true }), undefined)
  t.equal((await queue.claim())?.email.priority, 'new_address_code')
  t.equal((await queue.claim())?.email.priority, 'notice')
  t.equal(await queue.claim(), undefined)
})

t.test('a full priority refuses its own emails and no others', async (t) => {
  const queue = new InMemoryEmailQueue()
  for (let i = 0; i < maxQueued.new_address_code; i++) await queue.enqueue(createEmail('new_address_code'))
  t.same(await queue.enqueue(createEmail('new_address_code')), { isQueued: false, full: ['new_address_code'] })
  t.same(await queue.enqueue(createEmail('member_code')), { isQueued: true, full: ['new_address_code'] })
  t.equal((await queue.claim())?.email.to, 'member_code@example.com')
})

t.test('an email that waits for its retry still takes room', async (t) => {
  const queue = new InMemoryEmailQueue()
  for (let i = 0; i < maxQueued.notice; i++) await queue.enqueue(createEmail('notice'))
  const claimed = await queue.claim()
  if (claimed !== undefined) await queue.retryLater(claimed, 60_000)
  t.equal((await queue.enqueue(createEmail('notice'))).isQueued, false)
  t.equal(queue.pendingCount, maxQueued.notice)
})
