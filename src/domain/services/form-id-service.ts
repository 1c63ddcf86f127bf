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
 * `form-by-account` bounds how many. A stored form is an attempt that is allowed once, so all nodes see it and the sweep deletes it.
 */
export class FormIdService {
  readonly #deps: FormIdDeps

  constructor(deps: FormIdDeps) {
    this.#deps = deps
  }

  /** One id for all forms of a page; `redeem` tells them apart by their use. */
  issue(account: string): string {
    const { clock, ids } = this.#deps
    const head = `${clock.now().toString(36)}.${Buffer.from(ids.bytes(12)).toString('base64url')}`
    return `${head}.${this.#sign(head, account)}`
  }

  /** `use` names the form within its page. @throws TooManyAttempts */
  async redeem(id: string, account: string, use: string): Promise<FormIdResult> {
    const { store, attemptLimits, clock } = this.#deps
    const now = clock.now()
    const [, head = '', issuedAt = '', mac = ''] = /^(([0-9a-z]{1,9})\.[\w-]{16})\.([\w-]{22})$/.exec(id) ?? []
    if (!timingSafeEqual(Buffer.from(mac.padEnd(22)), Buffer.from(this.#sign(head, account)))) return 'expired'
    if (Number.parseInt(issuedAt, 36) + formLifetimeMs <= now) return 'expired'
    await attemptLimits.consume('form-by-account', account, now)
    const freeAt = await store.attempts.consume(toSubject(head, use), { times: 1, withinMs: formLifetimeMs }, now)
    return freeAt === null ? 'redeemed' : 'used'
  }

  /** Makes a form good again whose action was refused and changed nothing. */
  async release(id: string, use: string): Promise<void> {
    await this.#deps.store.attempts.restore(toSubject(id.slice(0, id.lastIndexOf('.')), use))
  }

  #sign(head: string, account: string): string {
    return createHmac('sha256', this.#deps.secret).update(`form\0${account}\0${head}`).digest('base64url').slice(0, 22)
  }
}

function toSubject(head: string, use: string): string {
  return `form:${createHash('sha256').update(`${head}\0${use}`).digest('base64url')}`
}
