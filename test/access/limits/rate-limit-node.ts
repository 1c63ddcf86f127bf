/** A node for `valkey-nodes.test.ts`: sends the offered requests and counts the admitted ones. */
import { createLocalLimits } from '../../../src/access/limits/memory.ts'
import { createLimits } from '../../../src/access/limits/create-limits.ts'
import { systemClock } from '../../../src/system/clock.ts'

/** The load for one node: `each` requests in each of `beats` intervals. */
export interface Offer {
  readonly subject: string
  readonly perMinute: number
  readonly each: number
  readonly beats: number
  readonly beatMs: number
}

/** The node's report. */
export interface OfferResult {
  readonly admitted: number
  readonly faults: number
  readonly slowestMs: number
  readonly fallbacks: number
  readonly log: readonly string[]
}

const [url = '', nodes = '1'] = process.argv.slice(2)
const log: string[] = []
const note = (_: object, sentence: string) => void log.push(sentence)
const parts = {
  url,
  slug: 'svc',
  createSharedStore: null,
  nodes: () => Number(nodes),
  clock: systemClock,
  log: { info: note, error: note },
}
const limits = await createLimits({ ...parts, local: createLocalLimits() })

process.on('message', (offer: Offer | 'end') => {
  if (offer === 'end') {
    limits.distributed?.close()
    process.disconnect?.()
  } else void sendOffer(offer).then((took) => void process.send?.(took))
})
process.send?.('ready')

async function sendOffer({ subject, perMinute, each, beats, beatMs }: Offer): Promise<OfferResult> {
  let [admitted, faults, slowestMs] = [0, 0, 0]
  const one = async (): Promise<void> => {
    const began = performance.now()
    try {
      if ((await limits.byAccount.consume(subject, perMinute, systemClock.monotonicMs())).allowed) admitted++
    } catch {
      faults++
    }
    slowestMs = Math.max(slowestMs, performance.now() - began)
  }
  const pending: Promise<void>[] = []
  for (let beat = 0; beat < beats; beat++) {
    for (let i = 0; i < each; i++) pending.push(one())
    await new Promise((resolve) => setTimeout(resolve, beatMs))
  }
  await Promise.all(pending)
  return { admitted, faults, slowestMs, fallbacks: limits.distributed?.stats.fallbacks ?? 0, log }
}
