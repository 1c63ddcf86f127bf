/** Members who send requests through the balancer in a loop, and a comparison of their answers with the database. */
import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { Agent, request } from 'undici'
import type { TestScope } from '../test-scope.ts'
import type { Cluster } from './cluster.ts'

export interface LoadRequest {
  readonly id: string
  readonly startedAt: number
  readonly endedAt: number
  /** Null without an answer. */
  readonly status: number | null
  /** The charge in the member's answer: `broken` for an incomplete answer, `refused` without a charge. */
  readonly outcome: 'settled' | 'refunded' | 'refused' | 'broken'
  readonly responseText: string
}

export class LoadGenerator {
  readonly requests: LoadRequest[] = []
  readonly #url: string
  readonly #agent = new Agent({ connections: null, pipelining: 1 })
  readonly #clients: Promise<void>[]
  #isStopped = false
  #ended: Promise<void> | undefined

  /**
   * Each of `clients` uses the next key in rotation and pauses for `pauseMs` after each answer, so that the load is bounded. A test that fails
   * ends it too.
   */
  constructor(t: TestScope, url: string, keys: readonly string[], clients: number, pauseMs = 40) {
    this.#url = url
    this.#clients = Array.from({ length: clients }, async (_, client) => {
      for (let nth = client; !this.#isStopped; nth += 1) {
        this.requests.push(await this.#sendRequest(keys[nth % keys.length] ?? '', nth % 2 === 0))
        await pause(pauseMs)
      }
    })
    t.teardown(() => this.stop())
  }

  /** Resolves with the answers to all requests. */
  async stop(): Promise<readonly LoadRequest[]> {
    this.#isStopped = true
    this.#ended ??= Promise.all(this.#clients).then(() => this.#agent.close())
    await this.#ended
    return this.requests
  }

  async #sendRequest(key: string, stream: boolean): Promise<LoadRequest> {
    const id = `mbr_${randomUUID()}`
    const startedAt = performance.now()
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
    return {
      id,
      startedAt,
      endedAt: performance.now(),
      status,
      outcome: classifyOutcome(status, said, isWhole),
      responseText: said.slice(0, 300),
    }
  }
}

function classifyOutcome(status: number | null, said: string, isWhole: boolean): LoadRequest['outcome'] {
  if (said.includes('"quotaRefunded":true')) return 'refunded'
  if (!isWhole) return 'broken'
  return status === 200 && !said.includes('"error"') ? 'settled' : 'refused'
}

export interface AccountingCheck {
  readonly acknowledged: number
  /** Acknowledged turns that the database does not have in that state. */
  readonly lost: number
  /** Turns charged more than once, or differently from all others with the same request. */
  readonly doubleCharged: number
  /** Credits by which balances differ from the charges, plus upstream calls without a hold. */
  readonly minted: number
  readonly holdsOpen: number
}

/** Compares all requests ever sent to this cluster with its database. */
export async function checkAccounting(
  { query, demo }: Pick<Cluster, 'query' | 'demo'>,
  requests: readonly LoadRequest[],
): Promise<AccountingCheck> {
  const rows = await query('select request_id, state, credits, reserved from turn')
  const states = Map.groupBy(rows, (row) => String(row['request_id']))
  const acknowledged = requests.filter(({ outcome }) => outcome === 'settled' || outcome === 'refunded')
  // A full refund counts, whichever node wrote it.
  const matchesOutcome = (state: unknown, told: string): boolean => state === told || (told === 'refunded' && state === 'expired')
  const lost = acknowledged.filter(({ id, outcome }) => !states.get(id)?.some(({ state }) => matchesOutcome(state, outcome)))
  const settled = rows.filter(({ state }) => state === 'settled')
  const charges = settled.map(({ credits }) => Number(credits)).toSorted((a, b) => a - b)
  const price = charges[Math.floor(charges.length / 2)]
  const charged = charges.reduce((sum, credits) => sum + credits, 0)
  const repeated = settled.length - new Set(settled.map((row) => row['request_id'])).size
  const [balances] = await query(
    'select coalesce(sum(fast_month_settled + premium_month_settled), 0) + (select coalesce(sum(settled), 0) from pack) as sum from balance',
  )
  const unheld = demo.calls.filter(({ id, path }) => path.endsWith('/chat/completions') && !states.has(id ?? ''))
  return {
    acknowledged: acknowledged.length,
    lost: lost.length,
    doubleCharged: repeated + charges.filter((credits) => credits !== price).length,
    minted: Math.abs(charged - Number(balances?.['sum'])) + unheld.length,
    holdsOpen: rows.filter(({ state }) => state === 'held').length,
  }
}

/** From a point in time until a turn that began after it has succeeded and no later turn failed. */
export function measureRecoveryMs(requests: readonly LoadRequest[], from: number): number {
  const after = requests
    .filter(({ startedAt, outcome }) => startedAt >= from && outcome === 'settled')
    .map(({ endedAt }) => endedAt)
  const failed = requests.filter(({ endedAt, outcome }) => endedAt >= from && outcome !== 'settled').map(({ endedAt }) => endedAt)
  return Math.max(Math.min(...after), ...failed) - from
}
