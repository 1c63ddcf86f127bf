/** The shared email queue: any node sends an email once, and another node if the first was killed. */
import { randomBytes } from 'node:crypto'
import { Client } from 'pg'
import t from 'tap'
import type { Test } from 'tap'
import { maxQueuedPerRecipient } from '../../../../../src/mail/email-queue.ts'
import type { EmailPriority, EmailQueue } from '../../../../../src/mail/email-queue.ts'
import { Mailer } from '../../../../../src/mail/mailer.ts'
import { createIds } from '../../../../../src/system/ids.ts'
import { createLog } from '../../../../../src/observability/log.ts'
import { Connections } from '../../../../../src/store/postgres/connection/connections.ts'
import { SharedEmailQueue } from '../../../../../src/store/postgres/cluster/email-queue.ts'
import { openPostgresStore } from '../../../../../src/store/postgres/open.ts'
import { waitUntil } from '../../../../support/gateway/test-gateway.ts'
import { providePostgres } from '../../../../support/servers/postgres/postgres.ts'
import { startSmtpServer } from '../../../../support/servers/smtp-server.ts'
import { createTestSchema, createTestOptions } from '../test-store.ts'
import { createClock } from '../../../../../src/system/clock.ts'

const postgres = await providePostgres(t, createTestSchema)
const secret = randomBytes(32)
const createEmail = (to: string | null) =>
  ({
    to,
    priority: 'member_code',
    usefulMs: 600_000,
    kind: 'code',
    subject: 'Your code',
    text: 'It is 123456.',
    html: '<p>It is 123456.</p>',
  }) as const

interface Node {
  readonly queue: SharedEmailQueue
  readonly mailer: Mailer
  readonly lines: string[]
  /** Stops it like a killed process. */
  vanish(): Promise<void>
}

if (postgres !== undefined) {
  const ground = async (t: Test) => {
    const url = await postgres.createDatabase(t)
    const client = new Client({ connectionString: url })
    await client.connect()
    t.teardown(() => client.end())
    const queueOf = (t: Test, lines: string[], key: Buffer = secret) => {
      const connections = new Connections({ url, max: 3, timeoutMs: 30_000 })
      let closed: Promise<void> | undefined
      const vanish = () => (closed ??= connections.close())
      t.teardown(vanish)
      return { vanish, queue: new SharedEmailQueue({ connections, secret: key, log: createTestLog(lines) }) }
    }
    return {
      url,
      client,
      rows: async () => (await client.query('select * from outbound_email order by id')).rows,
      /** As if this time had passed for all emails. */
      pass: (ms: number) =>
        client.query(
          `update outbound_email set due_at = due_at - $1::bigint * interval '1 ms', expires_at = expires_at - $1::bigint * interval '1 ms'`,
          [ms],
        ),
      /** Queues emails and sends none. */
      keeper: (key?: Buffer) => queueOf(t, [], key).queue,
      node(smtpUrl: string, key?: Buffer): Node {
        const lines: string[] = []
        const { vanish, queue } = queueOf(t, lines, key)
        const mailer = createMailer(smtpUrl, lines, queue)
        t.teardown(() => mailer.close(0))
        return { queue, mailer, lines, vanish }
      },
    }
  }

  t.test('sends an email of an ended node once from another node, and deletes it', async (t) => {
    const { url, rows, node } = await ground(t)
    const { url: smtpUrl, received } = await startSmtpServer(t)
    const store = await openPostgresStore(createTestOptions(url))
    const queue = store.createEmailQueue(secret)
    t.same(await queue.enqueue(createEmail('ada@example.com')), { isQueued: true, hasReplaced: false, full: [] })
    await store.close()
    t.equal((await rows()).length, 1)
    const others = [node(smtpUrl), node(smtpUrl), node(smtpUrl)]
    await waitUntil(async () => (await rows()).length === 0, 'the email to be deleted')
    await Promise.all(others.map(({ mailer }) => mailer.waitUntilIdle()))
    t.same(
      received.map(({ to, text }) => [to, /123456/.test(text)]),
      [[['ada@example.com'], true]],
    )
  })

  t.test('sends each of many emails once from three nodes', async (t) => {
    const { rows, node } = await ground(t)
    const { url, received } = await startSmtpServer(t)
    const nodes = [node(url), node(url), node(url)]
    const wanted = Array.from({ length: 30 }, (_, index) => `member${index}@example.com`)
    await Promise.all(wanted.map((to, index) => nodes[index % 3]!.mailer.enqueue(createEmail(to))))
    await waitUntil(async () => (await rows()).length === 0, 'all emails to be deleted')
    t.same(received.flatMap(({ to }) => to).toSorted(), wanted.toSorted())
  })

  t.test('sends the email of a killed node from another node after its lease, and not earlier', async (t) => {
    const { rows, pass, node } = await ground(t)
    const { url, received, pendingRecipients, pauseReplies } = await startSmtpServer(t)
    const { url: elsewhere, received: sent } = await startSmtpServer(t)
    const open = pauseReplies()
    const killed = node(url)
    await killed.mailer.enqueue(createEmail('ada@example.com'))
    await waitUntil(() => pendingRecipients.length === 1, 'the email to be claimed')
    const other = node(elsewhere)
    await pass(14_000)
    await killed.queue.poll()
    await pass(14_000)
    await other.queue.poll()
    await other.mailer.waitUntilIdle()
    t.same(sent, [], 'the claim was renewed')
    await killed.vanish()
    await pass(1_000)
    await other.queue.poll()
    await waitUntil(async () => (await rows()).length === 0, 'the email to be deleted')
    t.equal(sent.length, 1)
    open()
    await waitUntil(() => received.length === 1, 'the second delivery')
  })

  t.test('retries a temporarily refused email from any node, as long as it is of use', async (t) => {
    const { rows, pass, node } = await ground(t)
    const { url, received } = await startSmtpServer(t, { refusedRecipient: 'grace@example.com' })
    const { mailer, queue, lines } = node(url)
    await mailer.enqueue(createEmail('grace@example.com'))
    for (const [index, delayMs] of [10_000, 60_000].entries()) {
      await mailer.waitUntilIdle()
      const [{ due_at: due, attempts: tried }] = await rows()
      t.equal(tried, `${index + 1}`)
      t.ok(due.getTime() - Date.now() <= delayMs, 'after the same delay as on a single node')
      await pass(delayMs)
      await queue.poll()
      await mailer.waitUntilIdle()
    }
    t.equal((await rows()).length, 1)
    await pass(600_000)
    await queue.poll()
    t.same(await rows(), [])
    t.same(received, [])
    t.same(getMessages(lines), [
      'an email could not be sent yet; it is tried again',
      'an email could not be sent while it was of use',
    ])
    t.match(mailer.stats.results, { deferred: 3, expired: 1 })
    t.notMatch(lines.join(''), /example\.com|123456/)
  })

  t.test('leaves the unsent emails of a stopping node to the others', async (t) => {
    const { rows, pass, node } = await ground(t)
    const refusing = await startSmtpServer(t, { temporaryFailures: 99 })
    const taking = await startSmtpServer(t)
    const { mailer, lines } = node(refusing.url)
    await mailer.enqueue(createEmail('ada@example.com'))
    await mailer.close()
    t.same(getMessages(lines), ['an email could not be sent yet; it is tried again'])
    t.equal((await rows()).length, 1)
    await mailer.enqueue(createEmail('late@example.com'))
    t.match(getMessages(lines).at(-1), 'an email was dropped: the service is stopping')
    await pass(10_000)
    node(taking.url)
    await waitUntil(async () => (await rows()).length === 0, 'the email to be deleted')
    t.same(
      taking.received.map(({ to }) => to),
      [['ada@example.com']],
    )
  })

  t.test('stores emails encrypted, and deletes a modified one', async (t) => {
    const { client, rows, keeper, node } = await ground(t)
    const { url, received } = await startSmtpServer(t)
    for (const key of [secret, randomBytes(32)])
      t.match(await keeper(key).enqueue(createEmail('ada@example.com')), { isQueued: true })
    await keeper().enqueue(createEmail('ada@example.com'))
    const kept = await rows()
    for (const { sealed } of kept) t.notMatch(sealed.toString('latin1'), /ada|example|123456|code/)
    t.equal(new Set(kept.map(({ sealed }) => sealed.toString('hex'))).size, 3, 'equal emails have different ciphertexts')
    await client.query('update outbound_email set sealed = set_byte(sealed, 40, 255 - get_byte(sealed, 40)) where id = $1', [
      kept[2].id,
    ])
    const { lines } = node(url)
    await waitUntil(async () => (await rows()).length === 0, 'all emails to be deleted')
    t.equal(received.length, 1)
    const unread = 'an email in the database could not be decrypted and was deleted'
    t.same(getMessages(lines), ['an email was sent', unread, unread])
  })

  t.test('deletes emails that are of no use any more, and logs their number only', async (t) => {
    const { rows, pass, keeper, node } = await ground(t)
    const { url, received } = await startSmtpServer(t)
    await keeper().enqueue(createEmail('ada@example.com'))
    await pass(599_000)
    const [{ expires_at: expires }] = await rows()
    t.ok(expires.getTime() > Date.now())
    await pass(1_001)
    const { queue, lines } = node(url)
    await queue.poll()
    t.same(await rows(), [])
    t.same(received, [])
    t.match(
      lines.map((line) => JSON.parse(line)),
      [{ level: 'warn', emails: 1 }],
    )
  })

  t.test('queues an email without a recipient like any other, and sends nothing', async (t) => {
    const { rows, keeper, node } = await ground(t)
    const { url, received } = await startSmtpServer(t)
    await keeper().enqueue(createEmail(null))
    t.equal((await rows()).length, 1)
    const { lines } = node(url)
    await waitUntil(async () => (await rows()).length === 0, 'it to be deleted')
    t.same(received, [])
    t.same(lines, [])
  })

  t.test('drops and logs emails beyond the limit and those that the database does not accept', async (t) => {
    const { client, keeper, node } = await ground(t)
    const { url } = await startSmtpServer(t)
    await client.query(
      `insert into outbound_email (sealed, priority, due_at, expires_at)
      select '', 0, clock_timestamp() + interval '1 hour', clock_timestamp() + interval '1 hour' from generate_series(1, 1000)`,
    )
    t.same(await keeper().enqueue(createEmail('ada@example.com')), { isQueued: false, hasReplaced: false, full: ['member_code'] })
    const { mailer, lines, vanish } = node(url)
    await mailer.enqueue(createEmail('ada@example.com'))
    await mailer.waitUntilIdle()
    await vanish()
    await mailer.enqueue(createEmail('ada@example.com'))
    t.same(getMessages(lines), ['an email was dropped: the queue is full', 'an email was dropped: it could not be queued'])
    t.notMatch(lines.join(''), /ada@/)
  })

  t.test('hands out members’ codes first, and a full priority refuses no other', async (t) => {
    const { client, keeper } = await ground(t)
    await client.query(
      `insert into outbound_email (sealed, priority, due_at, expires_at)
      select '', 1, clock_timestamp() + interval '1 hour', clock_timestamp() + interval '1 hour' from generate_series(1, 499)`,
    )
    const queue = keeper()
    const create = (priority: EmailPriority) => ({ ...createEmail(`${priority}@example.com`), priority })
    t.same(await queue.enqueue(create('notice')), { isQueued: true, hasReplaced: false, full: [] })
    t.same(await queue.enqueue(create('new_address_code')), { isQueued: true, hasReplaced: false, full: [] })
    t.same(await queue.enqueue(create('new_address_code')), { isQueued: false, hasReplaced: false, full: ['new_address_code'] })
    t.same(await queue.enqueue(create('member_code')), { isQueued: true, hasReplaced: false, full: ['new_address_code'] })
    t.equal((await queue.claim({ memberCodesOnly: true }))?.email.priority, 'member_code')
    t.equal(await queue.claim({ memberCodesOnly: true }), undefined)
    t.equal((await queue.claim())?.email.priority, 'new_address_code')
    t.equal((await queue.claim())?.email.priority, 'notice')
  })

  t.test('the newest code for an address takes the place of its oldest, and then of a notice', async (t) => {
    const { client, keeper, rows } = await ground(t)
    const queue = keeper()
    const add = (priority: EmailPriority, subject: string, to = 'ada@example.com') =>
      queue.enqueue({ ...createEmail(to), priority, subject })
    const plain = { isQueued: true, hasReplaced: false, full: [] }
    const replaced = { isQueued: true, hasReplaced: true, full: [] }
    await add('notice', 'notice')
    for (let i = 1; i < maxQueuedPerRecipient; i++) t.same(await add('member_code', `code ${i}`), plain)
    t.same(await add('notice', 'second notice'), replaced)
    t.same(await add('member_code', 'newest code'), replaced)
    t.same(await add('member_code', 'code of another', 'grace@example.com'), plain)
    t.equal((await rows()).length, maxQueuedPerRecipient + 1)
    const subjects: (string | undefined)[] = []
    for (let i = 0; i <= maxQueuedPerRecipient; i++) subjects.push((await queue.claim())?.email.subject)
    t.same(subjects, [
      ...Array.from({ length: maxQueuedPerRecipient - 2 }, (_, i) => `code ${i + 2}`),
      'newest code',
      'code of another',
      'second notice',
    ])
    await client.query('delete from outbound_email where priority = 2')
    for (let i = 0; i < 2; i++) await add('member_code', 'one more code')
    t.same(
      await add('notice', 'third notice'),
      { isQueued: false, hasReplaced: false, full: [] },
      'a notice takes the place of no code',
    )
  })
}

function createMailer(smtpUrl: string, lines: string[], queue: EmailQueue): Mailer {
  const clock = createClock({})
  const from = 'svc <no-reply@localhost>'
  return new Mailer({
    mail: { smtp: { url: smtpUrl, from, allowPlaintextPassword: false, siteHost: null }, from, outbox: '' },
    log: createTestLog(lines),
    ids: createIds(),
    clock,
    queue,
  })
}

function createTestLog(lines: string[]) {
  return createLog('info', { write: (line) => void lines.push(line) }).log
}

function getMessages(lines: readonly string[]): string[] {
  return lines.map((line) => JSON.parse(line).msg)
}
