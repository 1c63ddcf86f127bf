/** Requests a minute that several nodes count in Valkey: exact, in few calls, with an end to every key, and by shares while it is lost. */
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { once } from 'node:events'
import t from 'tap'
import { LimitsElsewhere } from '../../../src/access/limits/elsewhere.ts'
import { decide } from '../../../src/access/limits/limits.ts'
import type { RateDecision } from '../../../src/access/limits/limits.ts'
import { createLimits, RateLimiter } from '../../../src/access/limits/memory.ts'
import { openLimits } from '../../../src/access/limits/open.ts'
import { openValkeyBook } from '../../../src/access/limits/valkey.ts'
import { systemClock } from '../../../src/system/clock.ts'
import { until } from '../../support/gateway.ts'
import { startValkey } from '../../support/valkey.ts'
import { limitCases } from './limit-cases.ts'

/** The script as it is, but for the clock, which the test moves. */
const testClock = "local now = tonumber(redis.call('GET', 'clock'))"

const valkey = await startValkey(t)
if (valkey !== undefined) {
  const { url, client } = valkey
  let ticksNow = -1
  const at = async (ticks: number): Promise<void> => {
    const before = ticksNow
    ticksNow = ticks
    if (ticks !== before) await client.set('clock', Math.floor(ticks) + 1_800_000_000_000)
  }
  await client.connect()
  await at(0)
  const open = (prefix: string) => openValkeyBook({ url, prefix, connectMs: 5_000, clock: testClock })
  let made = 0

  const book = await open('bare:')
  limitCases(
    t,
    'Valkey',
    () => {
      const mine = `${++made} `
      let before = Promise.resolve()
      return {
        async take(subject, perMinute, ticks): Promise<RateDecision> {
          before = before.then(() => at(ticks))
          await before
          const [used = NaN] = await book.take([{ subject: mine + subject, perMinute, count: 1 }])
          return decide(used, perMinute)
        },
      }
    },
    { isFar: true },
  )

  const clock = { now: () => ticksNow, ticks: () => ticksNow }
  const told: string[] = []
  const elsewhere = new LimitsElsewhere({
    name: 'the server of LIMITS_URL',
    open: () => open('whole:'),
    own: new RateLimiter(),
    nodes: () => 1,
    clock,
    // A machine that stands still for a moment is no server that is lost.
    patienceMs: 30_000,
    onLost: (why) => told.push(why),
    onBack: () => undefined,
  })
  await elsewhere.open()
  limitCases(
    t,
    'Valkey, as a gateway asks it',
    () => {
      const mine = `${++made} `
      let before = Promise.resolve()
      return {
        async take(subject, perMinute, ticks) {
          before = before.then(() => at(ticks))
          await before
          return elsewhere.take(mine + subject, perMinute, ticks)
        },
      }
    },
    { isFar: true },
  )

  t.test('it was never lost meanwhile', async (t) => {
    t.same(told, [])
    t.equal(elsewhere.vitals.alone, 0)
    elsewhere.close()
    book.close()
  })

  t.test('every key ends within a minute', async (t) => {
    const keys = (await client.keys('*')).filter((key) => key !== 'clock')
    t.ok(keys.length > 20)
    const ends = await Promise.all(keys.map((key) => client.pttl(key)))
    t.ok(ends.every((ms) => ms > 0 && ms <= 60_000))
  })

  t.test('the server counts by its own clock', async (t) => {
    const book = await openValkeyBook({ url, prefix: 'clock:', connectMs: 5_000 })
    t.teardown(() => book.close())
    const ask = [{ subject: 'a', perMinute: 60_000, count: 60_000 }]
    t.same(await book.take(ask), [0])
    const kept = (await client.get('clock:a')) ?? ''
    t.ok(Math.abs(Number(kept.split(' ')[1]) - Date.now()) < 60_000, kept)
    await until(
      async () => ((await book.take([{ subject: 'a', perMinute: 60_000, count: 0 }]))[0] ?? NaN) < 60_000 * 60_000,
      'some to come back',
    )
  })

  t.test('a database and a password of the address are used, and told to nobody', async (t) => {
    await client.config('SET', 'requirepass', 'secret-0123')
    t.teardown(() => client.config('SET', 'requirepass', ''))
    const lines: object[] = []
    const note = (about: object, sentence: string) => void lines.push({ ...about, sentence })
    const parts = { slug: 'svc', shared: null, nodes: () => 1, clock: systemClock, log: { info: note, error: note } }
    const right = url.replace('//', '//:secret-0123@')
    const limits = await openLimits({ ...parts, url: `${right}/3`, own: createLimits() })
    t.ok((await limits.byAccount.take('acc_1', 10, 0)).allowed)
    limits.elsewhere?.close()
    t.same(lines, [])
    await client.auth('secret-0123')
    await client.select(3)
    t.same((await client.keys('*')).toSorted(), ['svc:l:acc_1', 'svc:l:nobody'])
    await client.select(0)
    const wrong = await openLimits({ ...parts, url: url.replace('//', '//who:secret-4567@'), own: createLimits() })
    t.teardown(() => wrong.elsewhere?.close())
    t.ok((await wrong.byAccount.take('acc_1', 10, 0)).allowed, 'nobody is kept out')
    t.match(lines, [{ server: new URL(url).host, why: /WRONGPASS/ }])
    t.notMatch(JSON.stringify(lines), /secret-/)
  })

  t.test('a server that answers and takes no writes is lost, told of once, until it takes them', async (t) => {
    await client.call('REPLICAOF', '127.0.0.1', '1')
    t.teardown(() => client.call('REPLICAOF', 'NO', 'ONE'))
    const lines: object[] = []
    const note = (about: object, sentence: string) => void lines.push({ ...about, sentence })
    const log = { info: note, error: note }
    const limits = await openLimits({
      url,
      slug: 'svc',
      shared: null,
      own: createLimits(),
      nodes: () => 1,
      clock: systemClock,
      log,
    })
    t.teardown(() => limits.elsewhere?.close())
    t.type(limits.elsewhere?.vitals.lostSince, 'number')
    t.notOk(limits.byAccount.take('acc_2', 10, 0) instanceof Promise, 'decided here, at once')
    t.equal(lines.length, 1)
    await client.call('REPLICAOF', 'NO', 'ONE')
    await until(() => limits.elsewhere?.vitals.lostSince === null, 'it to be counted there again')
    t.equal(lines.length, 2)
  })
}

t.test('a server that takes the call and never answers costs one request its patience, and then none', async (t) => {
  let greeted = 0
  const silent = createServer((socket) => {
    greeted += 1
    socket.on('error', () => undefined)
  })
  silent.listen(0, '127.0.0.1')
  await once(silent, 'listening')
  t.teardown(() => silent.close())
  const lines: object[] = []
  const note = (about: object, sentence: string) => void lines.push({ ...about, sentence })
  const limits = await openLimits({
    url: `redis://127.0.0.1:${(silent.address() as AddressInfo).port}`,
    slug: 'svc',
    shared: null,
    own: createLimits(),
    nodes: () => 3,
    clock: systemClock,
    log: { info: note, error: note },
  })
  t.teardown(() => limits.elsewhere?.close())
  t.equal(greeted, 1)
  const decisions = Array.from({ length: 30 }, () => limits.byAccount.take('acc_1', 60, 0))
  t.ok(
    decisions.every((decision) => !(decision instanceof Promise)),
    'decided here, at once',
  )
  t.equal((await Promise.all(decisions)).filter(({ allowed }) => allowed).length, 20, 'a third of the limit')
  t.equal(lines.length, 1, 'said once')
  await until(() => greeted > 1, 'another try')
  t.equal(lines.length, 1)
})
