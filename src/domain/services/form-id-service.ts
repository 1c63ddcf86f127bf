/** Ids of the website's forms. Each form of a page is good once, so that a double click, a reload or the Back button acts once. */
import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import type { AttemptLimits } from '../identity/limits/attempt-limits.ts'
import type { Store } from '../store.ts'

interface FormIdDeps {
  readonly store: Pick<Store, 'attempts'>
  readonly attemptLimits: AttemptLimits
  readonly clock: { now(): number }
  readonly ids: { bytes(size: number): Uint8Array }
  /** The installation's secret, which all nodes share. */
  readonly secret: Uint8Array
}

/** `expired`: too old, of another account, or not issued here. */
export type FormIdResult = 'redeemed' | 'used' | 'expired'

/** How long a page may stay open before its forms are sent. */
export const formLifetimeMs = 12 * 3_600_000

/**
 * The server stores a form when it is sent, not when it is drawn: an id is signed, so that only forms of our own pages are stored, and
 * `form-by-account` bounds how many of a member. A stored form is an attempt that is allowed once, so all nodes see it and the sweep deletes it.
 */
export class FormIdService {
  readonly #deps: FormIdDeps

  constructor(deps: FormIdDeps) {
    this.#deps = deps
  }

  /** One id for all forms of a page; `redeem` tells them apart by their use. `account` is null for a visitor. */
  issue(account: string | null): string {
    const { clock, ids } = this.#deps
    const head = `${clock.now().toString(36)}.${Buffer.from(ids.bytes(12)).toString('base64url')}`
    return `${head}.${this.#sign(head, account)}`
  }

  /** Whether this id was issued to the account, or to a visitor, and may still be sent. */
  isValid(id: string, account: string | null): boolean {
    const [, head = '', issuedAt = '', mac = ''] = /^(([0-9a-z]{1,9})\.[\w-]{16})\.([\w-]{22})$/.exec(id) ?? []
    const isOurs = timingSafeEqual(Buffer.from(mac.padEnd(22)), Buffer.from(this.#sign(head, account)))
    return isOurs && Number.parseInt(issuedAt, 36) + formLifetimeMs > this.#deps.clock.now()
  }

  /**
   * `use` names the form within its page. A visitor's form has no limit of its own: what it does is limited, and one that did nothing is
   * released. @throws TooManyAttempts
   */
  async redeem(id: string, account: string | null, use: string): Promise<FormIdResult> {
    const { store, attemptLimits, clock } = this.#deps
    const now = clock.now()
    if (!this.isValid(id, account)) return 'expired'
    if (account !== null) await attemptLimits.consume('form-by-account', account, now)
    const freeAt = await store.attempts.consume(toSubject(toHead(id), use), { times: 1, withinMs: formLifetimeMs }, now)
    return freeAt === null ? 'redeemed' : 'used'
  }

  /** Makes a form good again whose action was refused and changed nothing. */
  async release(id: string, use: string): Promise<void> {
    await this.#deps.store.attempts.restore(toSubject(toHead(id), use))
  }

  /** The same secret of 256 bits for each repeat of a form, so that a repeat whose first answer was lost ends where that one would have. */
  deriveToken(id: string, ...purpose: readonly string[]): string {
    return createHmac('sha256', this.#deps.secret)
      .update(JSON.stringify(['form token', id, ...purpose]))
      .digest('base64url')
  }

  #sign(head: string, account: string | null): string {
    return createHmac('sha256', this.#deps.secret)
      .update(`form\0${account ?? ''}\0${head}`)
      .digest('base64url')
      .slice(0, 22)
  }
}

function toHead(id: string): string {
  return id.slice(0, id.lastIndexOf('.'))
}

function toSubject(head: string, use: string): string {
  return `form:${createHash('sha256').update(`${head}\0${use}`).digest('base64url')}`
}
