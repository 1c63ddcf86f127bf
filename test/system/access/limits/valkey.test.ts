/** Requests per minute counted in Valkey by several nodes: exact, in few calls, with an expiry on every key, and by shares while it is lost. */
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { once } from 'node:events'
import t from 'tap'
import { DistributedRateLimit } from '../../../../src/access/limits/distributed.ts'
import { decide } from '../../../../src/access/limits/limits.ts'
import type { RateDecision } from '../../../../src/access/limits/limits.ts'
import { createLocalLimits, MemoryRateLimit } from '../../../../src/access/limits/memory.ts'
import { createLimits } from '../../../../src/access/limits/create-limits.ts'
import { openValkeyStore } from '../../../../src/access/limits/valkey.ts'
import { systemClock } from '../../../../src/system/clock.ts'
import { waitUntil } from '../../../support/gateway/test-gateway.ts'
import { SimulatedClock } from '../../../support/simulated-clock.ts'
import { startValkey } from '../../../support/servers/valkey.ts'
import { testRateLimitContract } from './rate-limit-contract.ts'

/** The script with a clock that the test sets. */
const testClock = "local now = tonumber(redis.call('GET', 'clock'))"

const valkey = await startValkey(t)
if (valkey !== undefined) {
  const { url, client } = valkey
  let ticksNow = -1
  const clock = new SimulatedClock({ now: ticksNow, monotonicMs: ticksNow, isLive: true })
  const at = async (ticks: number): Promise<void> => {
    const before = ticksNow
    ticksNow = ticks
    clock.skip(ticks - before)
    if (ticks !== before) await client.set('clock', Math.floor(ticks) + 1_800_000_000_000)
  }
  await client.connect()
  await at(0)
  const open = (prefix: string) => openValkeyStore({ url, prefix, connectTimeoutMs: 5_000, clock: testClock })
  let made = 0

  const store = await open('bare:')
  testRateLimitContract(
    t,
    'Valkey',
    () => {
      const mine = `${++made} `
      let before = Promise.resolve()
      return {
        async consume(subject, perMinute, ticks): Promise<RateDecision> {
          before = before.then(() => at(ticks))
          await before
          const [used = NaN] = await store.consume([{ subject: mine + subject, perMinute, count: 1 }])
          return decide(used, perMinute)
        },
        restore: (subject, perMinute) => store.consume([{ subject: mine + subject, perMinute, count: -1 }]),
      }
    },
    { isRemote: true },
  )

  const logged: string[] = []
  const elsewhere = new DistributedRateLimit({
    name: 'the server of LIMITS_URL',
    open: () => open('whole:'),
    local: new MemoryRateLimit(),
    nodes: () => 1,
    clock,
    // A stalled test machine must not count as a lost server.
    timeoutMs: 30_000,
    onUnavailable: (why) => logged.push(why),
    onRecovered: () => undefined,
  })
  await elsewhere.open()
  testRateLimitContract(
    t,
    'Valkey, as a gateway asks it',
    () => {
      const mine = `${++made} `
      let before = Promise.resolve()
      return {
        async consume(subject, perMinute, ticks) {
          before = before.then(() => at(ticks))
          await before
          return elsewhere.consume(mine + subject, perMinute, ticks)
        },
        async restore(subject, perMinute, ticks) {
          elsewhere.restore(mine + subject, perMinute, ticks)
          // The gateway sends it with the requests of the next round of the event loop.
          await new Promise((resolve) => setImmediate(() => setImmediate(resolve)))
        },
      }
    },
    { isRemote: true },
  )

  t.test('the store was never lost during the tests', async (t) => {
    t.same(logged, [])
    t.equal(elsewhere.stats.fallbacks, 0)
    elsewhere.close()
    store.close()
  })

  t.test('every key expires within a minute', async (t) => {
    const keys = (await client.keys('*')).filter((key) => key !== 'clock')
    t.ok(keys.length > 20)
    const ends = await Promise.all(keys.map((key) => client.pttl(key)))
    t.ok(ends.every((ms) => ms > 0 && ms <= 60_000))
  })

  t.test('the server uses its own clock', async (t) => {
    const store = await openValkeyStore({ url, prefix: 'clock:', connectTimeoutMs: 5_000 })
    t.teardown(() => store.close())
    const ask = [{ subject: 'a', perMinute: 60_000, count: 60_000 }]
    t.same(await store.consume(ask), [0])
    const kept = (await client.get('clock:a')) ?? ''
    t.ok(Math.abs(Number(kept.split(' ')[1]) - Date.now()) < 60_000, kept)
    await waitUntil(
      async () => ((await store.consume([{ subject: 'a', perMinute: 60_000, count: 0 }]))[0] ?? NaN) < 60_000 * 60_000,
      'some to come back',
    )
  })

  t.test('uses the database and password of the URL and logs neither', async (t) => {
    await client.config('SET', 'requirepass', 'secret-0123')
    t.teardown(() => client.config('SET', 'requirepass', ''))
    const lines: object[] = []
    const note = (about: object, sentence: string) => void lines.push({ ...about, sentence })
    const parts = { slug: 'svc', createSharedStore: null, nodes: () => 1, clock: systemClock, log: { info: note, error: note } }
    const right = url.replace('//', '//:secret-0123@')
    const limits = await createLimits({ ...parts, url: `${right}/3`, local: createLocalLimits() })
    t.ok((await limits.byAccount.consume('acc_1', 10, 0)).allowed)
    limits.distributed?.close()
    t.same(lines, [])
    await client.auth('secret-0123')
    await client.select(3)
    t.same((await client.keys('*')).toSorted(), ['svc:l:acc_1', 'svc:l:probe'])
    await client.select(0)
    const wrong = await createLimits({ ...parts, url: url.replace('//', '//who:secret-4567@'), local: createLocalLimits() })
    t.teardown(() => wrong.distributed?.close())
    t.ok((await wrong.byAccount.consume('acc_1', 10, 0)).allowed, 'no request is refused')
    t.match(lines, [{ server: new URL(url).host, why: /WRONGPASS/ }])
    t.notMatch(JSON.stringify(lines), /secret-/)
  })

  t.test('a read-only server is lost, and logged once, until it accepts writes', async (t) => {
    await client.call('REPLICAOF', '127.0.0.1', '1')
    t.teardown(() => client.call('REPLICAOF', 'NO', 'ONE'))
    const lines: object[] = []
    const note = (about: object, sentence: string) => void lines.push({ ...about, sentence })
    const log = { info: note, error: note }
    const limits = await createLimits({
      url,
      slug: 'svc',
      createSharedStore: null,
      local: createLocalLimits(),
      nodes: () => 1,
      clock: systemClock,
      log,
    })
    t.teardown(() => limits.distributed?.close())
    t.type(limits.distributed?.stats.unavailableSince, 'number')
    t.notOk(limits.byAccount.consume('acc_2', 10, 0) instanceof Promise, 'decided locally without a call')
    t.equal(lines.length, 1)
    await client.call('REPLICAOF', 'NO', 'ONE')
    await waitUntil(() => limits.distributed?.stats.unavailableSince === null, 'it to be counted there again')
    t.equal(lines.length, 2)
  })
}

t.test('a server that never answers delays one request by the timeout, and later ones not at all', async (t) => {
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
  const limits = await createLimits({
    url: `redis://127.0.0.1:${(silent.address() as AddressInfo).port}`,
    slug: 'svc',
    createSharedStore: null,
    local: createLocalLimits(),
    nodes: () => 3,
    clock: systemClock,
    log: { info: note, error: note },
  })
  t.teardown(() => limits.distributed?.close())
  t.equal(greeted, 1)
  const decisions = Array.from({ length: 30 }, () => limits.byAccount.consume('acc_1', 60, 0))
  t.ok(
    decisions.every((decision) => !(decision instanceof Promise)),
    'decided locally without a call',
  )
  t.equal((await Promise.all(decisions)).filter(({ allowed }) => allowed).length, 20, "the node's share of the limit")
  t.equal(lines.length, 1, 'logged once')
  await waitUntil(() => greeted > 1, 'another try')
  t.equal(lines.length, 1)
})
