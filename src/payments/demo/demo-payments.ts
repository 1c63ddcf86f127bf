/**
 * Payments of the demonstration, as files that are written once: threads and processes share them without a lock, and of two choices the
 * first one counts.
 */
import { mkdirSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Money } from '../../domain/billing/money.ts'
import { parseJson } from '../../system/parse-json.ts'

/** `late`: pays after a while; `lose`: pays, and no notification is sent; `cancel`: the gateway closed it. */
export type DemoChoice = 'pay' | 'fail' | 'late' | 'lose' | 'cancel'

interface StoredPayment {
  readonly order: string
  readonly title: string
  readonly money: Money
  readonly returnUrl: string
  readonly cancelUrl: string
  readonly notifyUrl: string
  readonly expiresAt: number
}

export interface DemoPayment extends StoredPayment {
  readonly choice: DemoChoice | null
  readonly chosenAt: number
  /** Minor units. */
  readonly refunded: number
}

const maxFiles = 10_000
const keptMs = 30 * 86_400_000
const idPattern = /^[\w-]{1,64}$/

export class DemoPayments {
  readonly #folder: string

  constructor(folder: string) {
    this.#folder = folder
  }

  /** Repeated for the same order, it changes nothing. False: there are too many. */
  create(payment: StoredPayment, now: number): boolean {
    mkdirSync(this.#folder, { recursive: true, mode: 0o700 })
    if (this.#listFiles('').length >= maxFiles && !this.#prune(now)) return false
    this.#write(`${requireId(payment.order)}.json`, payment)
    return true
  }

  find(order: string): DemoPayment | undefined {
    if (!idPattern.test(order)) return undefined
    const storedPayment = this.#read(`${order}.json`) as StoredPayment | undefined
    if (storedPayment === undefined) return undefined
    const storedChoice = this.#read(`${order}.choice.json`) as { choice: DemoChoice; at: number } | undefined
    const refunds = this.#listFiles(`${order}.refund.`).map((name) => (this.#read(name) as { amount: number }).amount)
    return {
      ...storedPayment,
      choice: storedChoice?.choice ?? null,
      chosenAt: storedChoice?.at ?? 0,
      refunded: refunds.reduce((sum, amount) => sum + amount, 0),
    }
  }

  /** False if something else was chosen before. */
  choose(order: string, choice: DemoChoice, at: number): boolean {
    return this.#write(`${requireId(order)}.choice.json`, { choice, at })
  }

  hasRefund(order: string, refundId: string): boolean {
    return this.#read(toRefundFile(order, refundId)) !== undefined
  }

  refund(order: string, refundId: string, amount: number): void {
    this.#write(toRefundFile(order, refundId), { amount })
  }

  #listFiles(prefix: string): string[] {
    return readdirSync(this.#folder).filter((name) => name.startsWith(prefix))
  }

  /** Whether there is room now. */
  #prune(now: number): boolean {
    for (const name of this.#listFiles('')) {
      const file = join(this.#folder, name)
      if (statSync(file).mtimeMs < now - keptMs) rmSync(file, { force: true })
    }
    return this.#listFiles('').length < maxFiles
  }

  /** False if the file exists. */
  #write(name: string, content: object): boolean {
    try {
      writeFileSync(join(this.#folder, name), JSON.stringify(content), { flag: 'wx', mode: 0o600 })
      return true
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
      throw error
    }
  }

  #read(name: string): unknown {
    try {
      return parseJson(readFileSync(join(this.#folder, name), 'utf8'))
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
      throw error
    }
  }
}

function toRefundFile(order: string, refundId: string): string {
  return `${requireId(order)}.refund.${requireId(refundId)}.json`
}

function requireId(id: string): string {
  if (!idPattern.test(id)) throw new RangeError('an id of the demonstration has letters, digits, _ and - only')
  return id
}
