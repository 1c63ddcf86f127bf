/** Three processes and one Valkey: the limit holds in a burst and over time, and in sum while Valkey is down. */
import { fork } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { Redis } from 'iovalkey'
import type { Test } from 'tap'
import t from 'tap'
import { startValkey } from '../../support/servers/valkey.ts'
import type { Offer, OfferResult } from './rate-limit-node.ts'

const count = 3
const perMinute = 600

async function startNodes(t: Test, url: string) {
  const program = new URL('./rate-limit-node.ts', import.meta.url)
  const nodes = Array.from({ length: count }, () =>
    fork(program, [url, String(count)], { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] }),
  )
  t.teardown(async () => {
    await Promise.all(
      nodes.map(async (node) => {
        const gone = once(node, 'exit')
        node.send('end')
        await gone
      }),
    )
  })
  await Promise.all(nodes.map((node) => once(node, 'message')))
  return async (offer: Omit<Offer, 'perMinute'>) => {
    const began = performance.now()
    const took = await Promise.all(nodes.map((node) => offered(node, { perMinute, ...offer })))
    return { took, admitted: sum(took.map(({ admitted }) => admitted)), seconds: (performance.now() - began) / 1_000 }
  }
}

async function offered(node: ChildProcess, offer: Offer): Promise<OfferResult> {
  node.send(offer)
  const [took] = (await once(node, 'message')) as [OfferResult]
  return took
}

const sum = (numbers: readonly number[]): number => numbers.reduce((all, one) => all + one, 0)
/** The burst and the refill since. */
const allowed = (seconds: number): number => perMinute + (perMinute * seconds) / 60

t.test('ten times the offered load stays within 5 % of the limit, in a burst and steadily', async (t) => {
  const valkey = await startValkey(t)
  if (valkey === undefined) return
  const offer = await startNodes(t, valkey.url)
  const atOnce = await offer({ subject: 'acc_1', each: (10 * perMinute) / count, beats: 1, beatMs: 0 })
  t.ok(atOnce.admitted >= perMinute && atOnce.admitted <= allowed(atOnce.seconds) * 1.05, `${atOnce.admitted} of ${perMinute}`)
  // 100 per second in total: ten times the refill of ten.
  const steady = await offer({ subject: 'acc_1', each: 10, beats: 20, beatMs: 300 })
  const back = (perMinute * steady.seconds) / 60
  t.ok(steady.admitted >= back * 0.95 - 1 && steady.admitted <= back * 1.05 + 5, `${steady.admitted} of ${back.toFixed(1)}`)
  for (const { faults } of [...atOnce.took, ...steady.took]) t.equal(faults, 0)
})

t.test(
  'Valkey killed under load: the sum stays within the limit, no request fails or waits, and nodes count together again afterwards',
  async (t) => {
    const valkey = await startValkey(t)
    if (valkey === undefined) return
    const offer = await startNodes(t, valkey.url)
    const lost = setTimeout(() => void valkey.kill(), 1_000)
    t.teardown(() => clearTimeout(lost))
    const { took, admitted, seconds } = await offer({ subject: 'acc_1', each: 60, beats: 30, beatMs: 100 })
    t.ok(admitted >= perMinute * 0.95 && admitted <= allowed(seconds) * 1.05, `${admitted} of ${allowed(seconds).toFixed(1)}`)
    for (const { faults, fallbacks, log } of took) {
      t.equal(faults, 0)
      t.ok(fallbacks > 0)
      t.match(log.at(-1), /does not answer/)
    }
    await valkey.restart()
    await new Promise((resolve) => setTimeout(resolve, 2_500))
    const again = await offer({ subject: 'acc_2', each: (10 * perMinute) / count, beats: 1, beatMs: 0 })
    t.ok(again.admitted >= perMinute && again.admitted <= allowed(again.seconds) * 1.05, `${again.admitted} of ${perMinute}`)
    t.ok(
      again.took.every(({ log }) => log.length === 2),
      'the recovery is logged',
    )
  },
)

t.test('a store that loses its data again and again admits no more than the limit and the nodes’ shares', async (t) => {
  const valkey = await startValkey(t)
  if (valkey === undefined) return
  const offer = await startNodes(t, valkey.url)
  const client = new Redis(valkey.url)
  t.teardown(() => client.disconnect())
  const flushing = setInterval(() => void client.flushall(), 200)
  t.teardown(() => clearInterval(flushing))
  const { admitted, seconds } = await offer({ subject: 'acc_1', each: 60, beats: 40, beatMs: 100 })
  t.ok(admitted <= allowed(seconds) * 1.25, `${admitted} of ${allowed(seconds).toFixed(1)}`)
})
