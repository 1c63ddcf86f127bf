/**
 * How each product did lately, for the public: from members' turns, without probes. A figure of few turns or few accounts would tell about one
 * member, so it is left out, and the others are rounded. Read at most once a minute, so that strangers cannot load the store.
 */
import type { Product } from '../../domain/billing/catalog/product.ts'
import type { LatencyPercentiles } from '../../domain/turn-history/latency-histogram.ts'
import type { TurnHistory, UsageTotals } from '../../domain/turn-history/turn-history.ts'
import { rateEndings } from '../../domain/turn-history/turn-success.ts'
import { toUsageSpan } from '../../domain/turn-history/usage-span.ts'

/** Fewer turns are shown nowhere. */
export const minStatusTurns = 100
/** The newest turns must be of so many accounts. */
export const minStatusAccounts = 5
/** Of so many of the newest. */
const maxExaminedTurns = 1_000
export const statusSpans = ['day', 'month'] as const
export type StatusSpan = (typeof statusSpans)[number]
const maxAgeMs = 60_000
/** A store that fails is not asked by each visitor, and soon again. */
const maxFailureAgeMs = 5_000
/** From so many turns on a tenth of a per cent means something. */
const minExactTurns = 1_000

export interface StatusFigures {
  /** 0 to 1, rounded down: all turns are one only where none failed. */
  readonly share: number
  /** Half of the answers began within it, rounded; null where too few have a first token. */
  readonly firstTokenMs: number | null
}

export interface ProductStatus {
  readonly id: string
  readonly name: string
  /** Null: too few turns or accounts. */
  readonly spans: Readonly<Record<StatusSpan, StatusFigures | null>>
}

export interface ServiceStatus {
  /** Every turn that had ended then is counted; null while older ones are being added for the first time. */
  readonly completeAt: number | null
  readonly products: readonly ProductStatus[]
}

interface ServiceStatusDeps {
  readonly turnHistory: Pick<TurnHistory, 'readProgress' | 'readUsage' | 'hasAccounts'>
  readonly products: { readonly all: readonly Product[]; isRetired(product: Product, now: number): boolean }
  readonly clock: { now(): number; monotonicMs(): number }
}

export class ServiceStatusReader {
  readonly #deps: ServiceStatusDeps
  #reading: Promise<ServiceStatus> | null = null
  #validUntilMs = 0

  constructor(deps: ServiceStatusDeps) {
    this.#deps = deps
  }

  /** One read at a time for all visitors; each lasts for a minute. */
  read(): Promise<ServiceStatus> {
    const now = this.#deps.clock.monotonicMs()
    if (this.#reading !== null && now < this.#validUntilMs) return this.#reading
    const statusReading = this.#read()
    this.#reading = statusReading
    this.#validUntilMs = now + maxAgeMs
    statusReading.catch(() => {
      if (this.#reading === statusReading) this.#validUntilMs = this.#deps.clock.monotonicMs() + maxFailureAgeMs
    })
    return statusReading
  }

  async #read(): Promise<ServiceStatus> {
    const { turnHistory, products, clock } = this.#deps
    const now = clock.now()
    const { behindMs } = await turnHistory.readProgress()
    const totals = {
      day: await turnHistory.readUsage({ ...toUsageSpan('day', now), by: 'product' }),
      month: await turnHistory.readUsage({ ...toUsageSpan('month', now), by: 'product' }),
    }
    const productStatuses: ProductStatus[] = []
    for (const product of products.all) {
      if (products.isRetired(product, now)) continue
      const spans: Record<StatusSpan, StatusFigures | null> = { day: null, month: null }
      for (const span of statusSpans) {
        const { bounds, series } = totals[span]
        const figures = toFigures(series.find(({ key }) => key === product.id)?.total)
        const query = { product: product.id, from: bounds[0] ?? now, minAccounts: minStatusAccounts, maxTurns: maxExaminedTurns }
        if (figures !== null && (await turnHistory.hasAccounts(query))) spans[span] = figures
      }
      productStatuses.push({ id: product.id, name: product.name, spans })
    }
    return { completeAt: behindMs === null ? null : now - behindMs, products: productStatuses }
  }
}

/** Null of too few turns. */
function toFigures(totals: UsageTotals | undefined): StatusFigures | null {
  const { share, rated } = rateEndings(totals?.endings ?? {})
  if (share === null || rated < minStatusTurns) return null
  const parts = rated < minExactTurns ? 100 : 1000
  return { share: Math.floor(share * parts) / parts, firstTokenMs: roundLatency(totals?.firstToken ?? null) }
}

function roundLatency(latency: LatencyPercentiles | null): number | null {
  if (latency === null || latency.count < minStatusTurns) return null
  return Math.max(100, Math.round(latency.p50 / 100) * 100)
}
