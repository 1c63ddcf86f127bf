/** A node for `valkey-nodes.test.ts`: asks as often as it is told, and counts whom it let in. */
import { createLimits } from '../../../src/access/limits/memory.ts'
import { openLimits } from '../../../src/access/limits/open.ts'
import { systemClock } from '../../../src/system/clock.ts'

/** What a node is told: so many requests in each of so many beats. */
export interface Offer {
  readonly subject: string
  readonly perMinute: number
  readonly each: number
  readonly beats: number
  readonly beatMs: number
}

/** What it says in the end. */
export interface Took {
  readonly admitted: number
  readonly faults: number
  readonly slowestMs: number
  readonly alone: number
  readonly log: readonly string[]
}

const [url = '', nodes = '1'] = process.argv.slice(2)
const log: string[] = []
const note = (_: object, sentence: string) => void log.push(sentence)
const parts = { url, slug: 'svc', shared: null, nodes: () => Number(nodes), clock: systemClock, log: { info: note, error: note } }
const limits = await openLimits({ ...parts, own: createLimits() })

process.on('message', (offer: Offer | 'end') => {
  if (offer === 'end') {
    limits.elsewhere?.close()
    process.disconnect?.()
  } else void take(offer).then((took) => void process.send?.(took))
})
process.send?.('ready')

async function take({ subject, perMinute, each, beats, beatMs }: Offer): Promise<Took> {
  let [admitted, faults, slowestMs] = [0, 0, 0]
  const one = async (): Promise<void> => {
    const began = performance.now()
    try {
      if ((await limits.byAccount.take(subject, perMinute, systemClock.ticks())).allowed) admitted++
    } catch {
      faults++
    }
    slowestMs = Math.max(slowestMs, performance.now() - began)
  }
  const asked: Promise<void>[] = []
  for (let beat = 0; beat < beats; beat++) {
    for (let i = 0; i < each; i++) asked.push(one())
    await new Promise((resolve) => setTimeout(resolve, beatMs))
  }
  await Promise.all(asked)
  return { admitted, faults, slowestMs, alone: limits.elsewhere?.vitals.alone ?? 0, log }
}
