/**
 * Bounds the bytes of request bodies that are being received, wait to be parsed or are kept for the calls of a turn: of each account, of each
 * address without an account, and of the whole process. A body of declared length reserves it before it is read; a chunked body reserves as it arrives.
 */
import { GatewayError } from '../../errors.ts'
import type { BudgetBounds, SharedBudget } from './shared-budget.ts'

/** Who a body counts for. */
export interface BodyOwner {
  /** `address`: a client that has not authenticated, by its network prefix. */
  readonly kind: 'account' | 'address'
  readonly id: string
}

export interface BodyBudgetBounds {
  readonly perAccountBytes: number
  readonly perAddressBytes: number
  /** All accounts together. */
  readonly totalBytes: number
}

interface BodyBudgetOptions {
  readonly accounts: SharedBudget
  readonly addresses: SharedBudget
  readonly bounds: BodyBudgetBounds
}

export type { BodyReservation }

/** Bodies up to this size are nearly all requests; long bodies leave them a part of the budget. */
const smallBodyBytes = 128 * 1024
/** The part of the budget that is kept for small bodies, and the size of the addresses' own budget beside it. */
const reservedPart = 1 / 8
const retryAfterSeconds = 1

export class BodyBudget {
  readonly #options: BodyBudgetOptions
  #bounds: BodyBudgetBounds

  constructor(options: BodyBudgetOptions) {
    this.#options = options
    this.#bounds = options.bounds
  }

  /** Bounds further bytes; what was reserved stays. */
  setBounds(bounds: BodyBudgetBounds): void {
    this.#bounds = bounds
  }

  /** @throws GatewayError `rate_limited` if the owner's bodies are too large together, `temporarily_unavailable` if all are */
  reserve(owner: BodyOwner, bytes: number): BodyReservation {
    return this.#open(owner, bytes, this.#findBounds)
  }

  /** Bytes of all bodies at this moment. */
  get totalBytes(): number {
    return this.#options.accounts.total + this.#options.addresses.total
  }

  /** Counts bytes that are in memory already, also above the bounds: further bodies are refused meanwhile. */
  count(owner: BodyOwner, bytes: number): BodyReservation {
    return this.#open(owner, bytes, () => unbounded)
  }

  #open(owner: BodyOwner, bytes: number, findBounds: FindBounds): BodyReservation {
    const budget = owner.kind === 'account' ? this.#options.accounts : this.#options.addresses
    const reservation = new BodyReservation(owner, budget, findBounds)
    reservation.grow(bytes)
    return reservation
  }

  /** The bounds for an owner whose body then has so many bytes. */
  readonly #findBounds = (kind: BodyOwner['kind'], bytes: number): BudgetBounds => {
    const { perAccountBytes, perAddressBytes, totalBytes } = this.#bounds
    const isSmall = bytes <= smallBodyBytes
    return {
      max: kind === 'account' ? perAccountBytes : perAddressBytes,
      maxTotal:
        kind === 'address' ? totalBytes * reservedPart : isSmall ? totalBytes : Math.floor(totalBytes * (1 - reservedPart)),
    }
  }
}

const unbounded: BudgetBounds = { max: Number.POSITIVE_INFINITY, maxTotal: Number.POSITIVE_INFINITY }

type FindBounds = (kind: BodyOwner['kind'], bytes: number) => BudgetBounds

/** A class and no object of closures: one is created for every request. */
class BodyReservation {
  readonly #owner: BodyOwner
  readonly #budget: SharedBudget
  readonly #findBounds: FindBounds
  #bytes = 0
  #isReleased = false

  constructor(owner: BodyOwner, budget: SharedBudget, findBounds: FindBounds) {
    this.#owner = owner
    this.#budget = budget
    this.#findBounds = findBounds
  }

  /** Bytes reserved so far. */
  get bytes(): number {
    return this.#bytes
  }

  /** @throws GatewayError like `reserve` */
  grow(amount: number): void {
    if (amount <= 0 || this.#isReleased) return
    const bounds = this.#findBounds(this.#owner.kind, this.#bytes + amount)
    const outcome = this.#budget.take(this.#owner.id, amount, bounds)
    if (outcome === 'subject_full') throw createOwnerFullError(bounds.max)
    if (outcome === 'total_full') throw new GatewayError('temporarily_unavailable', { retryAfter: retryAfterSeconds })
    this.#bytes += amount
  }

  /** Gives all bytes back; further calls have no effect. */
  release(): void {
    if (this.#isReleased) return
    this.#isReleased = true
    this.#budget.give(this.#owner.id, this.#bytes)
  }
}

function createOwnerFullError(maxBytes: number): GatewayError {
  return new GatewayError('rate_limited', {
    retryAfter: retryAfterSeconds,
    shouldRetry: true,
    message: {
      en: `You are sending too many large requests at once: ${maxBytes} bytes are allowed together. Please wait for one to arrive.`,
      zh: `同时发送的大请求过多，合计最多允许 ${maxBytes} 字节，请等待其中一个传输完成。`,
    },
  })
}
