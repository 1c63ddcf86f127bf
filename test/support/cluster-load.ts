/** Members who ask through the balancer again and again; and whether the database has what they were told, once. */
import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { Agent, request } from 'undici'
import type { Cluster } from './cluster.ts'

export interface Asked {
  readonly id: string
  readonly beganAt: number
  readonly endedAt: number
  /** Null where nothing came. */
  readonly status: number | null
  /** What the member was told of the charge: `broken` where the answer did not come to its end, `refused` where there was none. */
  readonly told: 'settled' | 'refunded' | 'refused' | 'broken'
  readonly said: string
}

export class Load {
  readonly asked: Asked[] = []
  readonly #url: string
  readonly #agent = new Agent({ connections: null, pipelining: 1 })
  readonly #members: Promise<void>[]
  #isOver = false

  /** Each of `clients` takes the next key in turn, and rests for `pauseMs` after each answer, so that the load is bounded. */
  constructor(url: string, keys: readonly string[], clients: number, pauseMs = 40) {
    this.#url = url
    this.#members = Array.from({ length: clients }, async (_, client) => {
      for (let nth = client; !this.#isOver; nth += 1) {
        this.asked.push(await this.#ask(keys[nth % keys.length] ?? '', nth % 2 === 0))
        await pause(pauseMs)
      }
    })
  }

  /** Resolves with the answers to all that was asked. */
  async end(): Promise<readonly Asked[]> {
    this.#isOver = true
    await Promise.all(this.#members)
    await this.#agent.close()
    return this.asked
  }

  async #ask(key: string, stream: boolean): Promise<Asked> {
    const id = `mbr_${randomUUID()}`
    const beganAt = performance.now()
    let status: number | null = null
    let said = ''
    let isWhole = false
    try {
      const answer = await request(`${this.#url}/v1/chat/completions`, {
        method: 'POST',
        dispatcher: this.#agent,
        headersTimeout: 60_000,
        bodyTimeout: 60_000,
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', 'x-svc-request-id': id },
        body: JSON.stringify({ model: 'svc-2.1', stream, max_tokens: 16, messages: [{ role: 'user', content: 'Hello!' }] }),
      })
      status = answer.statusCode
      for await (const piece of answer.body) said += String(piece)
      isWhole = !stream || status !== 200 || said.endsWith('data: [DONE]\n\n')
    } catch (error) {
      said ||= String(error)
    }
    return { id, beganAt, endedAt: performance.now(), status, told: toldBy(status, said, isWhole), said: said.slice(0, 300) }
  }
}

function toldBy(status: number | null, said: string, isWhole: boolean): Asked['told'] {
  if (said.includes('"quotaRefunded":true')) return 'refunded'
  if (!isWhole) return 'broken'
  return status === 200 && !said.includes('"error"') ? 'settled' : 'refused'
}

export interface Books {
  readonly acknowledged: number
  /** Acknowledged, and not in the database as that. */
  readonly lost: number
  /** Charged more than once, or otherwise than all others, who asked for the same. */
  readonly double: number
  /** Credits by which purses differ from what was charged, plus calls upstream that nothing was ever held for. */
  readonly minted: number
  readonly holdsOpen: number
}

/** All that was ever asked of this cluster, against what its database has. */
export async function booksOf({ query, demo }: Pick<Cluster, 'query' | 'demo'>, asked: readonly Asked[]): Promise<Books> {
  const rows = await query('select request_id, state, credits, reserved from turn')
  const states = Map.groupBy(rows, (row) => String(row['request_id']))
  const acknowledged = asked.filter(({ told }) => told === 'settled' || told === 'refunded')
  // Given back in full is given back, whoever did it.
  const isAsTold = (state: unknown, told: string): boolean => state === told || (told === 'refunded' && state === 'expired')
  const lost = acknowledged.filter(({ id, told }) => !states.get(id)?.some(({ state }) => isAsTold(state, told)))
  const settled = rows.filter(({ state }) => state === 'settled')
  const charges = settled.map(({ credits }) => Number(credits)).toSorted((a, b) => a - b)
  const price = charges[Math.floor(charges.length / 2)]
  const charged = charges.reduce((sum, credits) => sum + credits, 0)
  const repeated = settled.length - new Set(settled.map((row) => row['request_id'])).size
  const [purses] = await query(
    'select coalesce(sum(fast_month_settled + premium_month_settled), 0) + (select coalesce(sum(settled), 0) from pack) as sum from purse',
  )
  const unheld = demo.calls.filter(({ id, path }) => path.endsWith('/chat/completions') && !states.has(id ?? ''))
  return {
    acknowledged: acknowledged.length,
    lost: lost.length,
    double: repeated + charges.filter((credits) => credits !== price).length,
    minted: Math.abs(charged - Number(purses?.['sum'])) + unheld.length,
    holdsOpen: rows.filter(({ state }) => state === 'held').length,
  }
}

/** From an instant on: until a turn begun after it has ended well, and none failed any more. */
export function recoveryMs(asked: readonly Asked[], from: number): number {
  const after = asked.filter(({ beganAt, told }) => beganAt >= from && told === 'settled').map(({ endedAt }) => endedAt)
  const failed = asked.filter(({ endedAt, told }) => endedAt >= from && told !== 'settled').map(({ endedAt }) => endedAt)
  return Math.max(Math.min(...after), ...failed) - from
}
