/** Letters of nodes that share a database: sent by whichever, once, and by another where one was killed. */
import { randomBytes } from 'node:crypto'
import { Client } from 'pg'
import t from 'tap'
import type { Test } from 'tap'
import type { LetterQueue } from '../../../src/system/mail/letter-queue.ts'
import { MailRoom } from '../../../src/system/mail/mail-room.ts'
import { createIds } from '../../../src/system/ids.ts'
import { createLog } from '../../../src/system/observe/log.ts'
import { Connections } from '../../../src/store/postgres/connections.ts'
import { SharedLetters } from '../../../src/store/postgres/letters.ts'
import { openPostgresStore } from '../../../src/store/postgres/open.ts'
import { until } from '../../support/gateway.ts'
import { postgresFor } from '../../support/postgres.ts'
import { startSmtp } from '../../support/smtp.ts'
import { furnish, optionsFor } from './support.ts'

const postgres = await postgresFor(t, furnish)
const secret = randomBytes(32)
const letterTo = (to: string | null) => ({ to, kind: 'code', subject: 'Your code', text: 'It is 123456.' }) as const

interface Node {
  readonly queue: SharedLetters
  readonly room: MailRoom
  readonly lines: string[]
  /** What it would do as a killed process: nothing any more. */
  vanish(): Promise<void>
}

if (postgres !== undefined) {
  const ground = async (t: Test) => {
    const url = await postgres.database(t)
    const client = new Client({ connectionString: url })
    await client.connect()
    t.teardown(() => client.end())
    const queueOf = (t: Test, lines: string[], key: Buffer = secret) => {
      const connections = new Connections({ url, most: 3, patienceMs: 50 })
      let closed: Promise<void> | undefined
      const vanish = () => (closed ??= connections.close())
      t.teardown(vanish)
      return { vanish, queue: new SharedLetters({ connections, secret: key, log: logTo(lines) }) }
    }
    return {
      url,
      client,
      rows: async () => (await client.query('select * from letter order by id')).rows,
      /** As if so much time had passed for them all. */
      pass: (ms: number) =>
        client.query(
          `update letter set due_at = due_at - $1::bigint * interval '1 ms', expires_at = expires_at - $1::bigint * interval '1 ms'`,
          [ms],
        ),
      /** Keeps letters and sends none. */
      keeper: (key?: Buffer) => queueOf(t, [], key).queue,
      node(smtpUrl: string, key?: Buffer): Node {
        const lines: string[] = []
        const { vanish, queue } = queueOf(t, lines, key)
        const room = roomOf(smtpUrl, lines, queue)
        t.teardown(() => room.close(0))
        return { queue, room, lines, vanish }
      },
    }
  }

  t.test('what a node had accepted when it ended is sent by another, once, and forgotten', async (t) => {
    const { url, rows, node } = await ground(t)
    const { url: smtpUrl, received } = await startSmtp(t)
    const store = await openPostgresStore(optionsFor(url))
    const queue = store.letters(secret)
    t.equal(await queue.add(letterTo('ada@example.com')), true)
    await store.close()
    t.equal((await rows()).length, 1)
    const others = [node(smtpUrl), node(smtpUrl), node(smtpUrl)]
    await until(async () => (await rows()).length === 0, 'the letter to be gone')
    await Promise.all(others.map(({ room }) => room.settled()))
    t.same(
      received.map(({ to, text }) => [to, /123456/.test(text)]),
      [[['ada@example.com'], true]],
    )
  })

  t.test('three nodes with many letters send each of them once', async (t) => {
    const { rows, node } = await ground(t)
    const { url, received } = await startSmtp(t)
    const nodes = [node(url), node(url), node(url)]
    const wanted = Array.from({ length: 30 }, (_, index) => `member${index}@example.com`)
    await Promise.all(wanted.map((to, index) => nodes[index % 3]!.room.post(letterTo(to))))
    await until(async () => (await rows()).length === 0, 'all letters to be gone')
    t.same(received.flatMap(({ to }) => to).toSorted(), wanted.toSorted())
  })

  t.test('a letter that a node was sending when it was killed is another’s after its time, and not sooner', async (t) => {
    const { rows, pass, node } = await ground(t)
    const { url, received, held, hold } = await startSmtp(t)
    const { url: elsewhere, received: sent } = await startSmtp(t)
    const open = hold()
    const killed = node(url)
    await killed.room.post(letterTo('ada@example.com'))
    await until(() => held.length === 1, 'the letter to be under way')
    const other = node(elsewhere)
    await pass(14_000)
    await killed.queue.look()
    await pass(14_000)
    await other.queue.look()
    await other.room.settled()
    t.same(sent, [], 'it was heard of meanwhile')
    await killed.vanish()
    await pass(1_000)
    await other.queue.look()
    await until(async () => (await rows()).length === 0, 'the letter to be gone')
    t.equal(sent.length, 1)
    open()
    await until(() => received.length === 1, 'the dead hand')
  })

  t.test('a letter that was refused for now is tried anew by whichever node, thrice in all', async (t) => {
    const { rows, pass, node } = await ground(t)
    const { url, received } = await startSmtp(t, { refuseTo: 'grace@example.com' })
    const { room, queue, lines } = node(url)
    await room.post(letterTo('grace@example.com'))
    for (const tries of [1, 2]) {
      await room.settled()
      const [{ due_at: due, tries: tried }] = await rows()
      t.equal(tried, `${tries}`)
      t.ok(due.getTime() - Date.now() <= tries * 1_000, 'soon, as one node alone would try it')
      await pass(tries * 1_000)
      await queue.look()
      await room.settled()
    }
    t.same(await rows(), [])
    t.same(received, [])
    t.same(messages(lines), ['a mail could not be sent'])
    t.notMatch(lines.join(''), /example\.com|123456/)
  })

  t.test('a node that ends leaves what it could not send to the others', async (t) => {
    const { rows, pass, node } = await ground(t)
    const refusing = await startSmtp(t, { refuse: 99 })
    const taking = await startSmtp(t)
    const { room, lines } = node(refusing.url)
    await room.post(letterTo('ada@example.com'))
    await room.close()
    t.same(messages(lines), [])
    t.equal((await rows()).length, 1)
    await room.post(letterTo('late@example.com'))
    t.match(messages(lines), ['a mail was dropped: too many are waiting'])
    await pass(1_000)
    node(taking.url)
    await until(async () => (await rows()).length === 0, 'the letter to be gone')
    t.same(
      taking.received.map(({ to }) => to),
      [['ada@example.com']],
    )
  })

  t.test('who reads the database reads no letter, and a letter that was changed is thrown away', async (t) => {
    const { client, rows, keeper, node } = await ground(t)
    const { url, received } = await startSmtp(t)
    for (const key of [secret, randomBytes(32)]) t.equal(await keeper(key).add(letterTo('ada@example.com')), true)
    await keeper().add(letterTo('ada@example.com'))
    const kept = await rows()
    for (const { sealed } of kept) t.notMatch(sealed.toString('latin1'), /ada|example|123456|code/)
    t.equal(new Set(kept.map(({ sealed }) => sealed.toString('hex'))).size, 3, 'nor that two of them are the same')
    await client.query('update letter set sealed = set_byte(sealed, 40, 255 - get_byte(sealed, 40)) where id = $1', [kept[2].id])
    const { lines } = node(url)
    await until(async () => (await rows()).length === 0, 'all of them to be gone')
    t.equal(received.length, 1)
    const unread = 'a mail in the database could not be read, and was thrown away'
    t.same(messages(lines), ['a mail was sent', unread, unread])
  })

  t.test('what could not be sent in ten minutes goes, and is told of without a word of it', async (t) => {
    const { rows, pass, keeper, node } = await ground(t)
    const { url, received } = await startSmtp(t)
    await keeper().add(letterTo('ada@example.com'))
    await pass(599_000)
    const [{ expires_at: expires }] = await rows()
    t.ok(expires.getTime() > Date.now())
    await pass(1_001)
    const { queue, lines } = node(url)
    await queue.look()
    t.same(await rows(), [])
    t.same(received, [])
    t.match(
      lines.map((line) => JSON.parse(line)),
      [{ level: 'warn', mails: 1 }],
    )
  })

  t.test('nobody’s letter waits like any other, and goes nowhere', async (t) => {
    const { rows, keeper, node } = await ground(t)
    const { url, received } = await startSmtp(t)
    await keeper().add(letterTo(null))
    t.equal((await rows()).length, 1)
    const { lines } = node(url)
    await until(async () => (await rows()).length === 0, 'it to be gone')
    t.same(received, [])
    t.same(lines, [])
  })

  t.test(
    'more letters than can be sent are dropped, and so is one that a database does not take; nobody is told but the log',
    async (t) => {
      const { client, keeper, node } = await ground(t)
      const { url } = await startSmtp(t)
      await client.query(
        `insert into letter (sealed, due_at, expires_at)
      select '', clock_timestamp() + interval '1 hour', clock_timestamp() + interval '1 hour' from generate_series(1, 1000)`,
      )
      t.equal(await keeper().add(letterTo('ada@example.com')), false)
      const { room, lines, vanish } = node(url)
      await room.post(letterTo('ada@example.com'))
      await room.settled()
      await vanish()
      await room.post(letterTo('ada@example.com'))
      t.same(messages(lines), ['a mail was dropped: too many are waiting', 'a mail was dropped: it could not be kept'])
      t.notMatch(lines.join(''), /ada@/)
    },
  )
}

function roomOf(smtpUrl: string, lines: string[], queue: LetterQueue): MailRoom {
  const clock = { now: () => Date.now() }
  return new MailRoom({
    smtpUrl,
    from: 'svc <no-reply@localhost>',
    outbox: '',
    log: logTo(lines),
    ids: createIds(),
    clock,
    queue,
  })
}

function logTo(lines: string[]) {
  return createLog('info', { write: (line) => void lines.push(line) }).log
}

function messages(lines: readonly string[]): string[] {
  return lines.map((line) => JSON.parse(line).msg)
}
