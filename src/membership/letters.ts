/** Letters that prove an address: written, and what comes back from them judged. */
import { hashToken } from './api-key.ts'
import type { AllowanceTable } from './allowances.ts'
import { judgeLetter, lettersCountFor, linkLifeMs } from './letter-rules.ts'
import { hashMailCode, mintMailCode, sameHash } from './mail-code.ts'
import type { NewLetter } from './mail-code.ts'
import { Busy } from './refusal.ts'
import { looksLikeToken, mintToken } from './session.ts'
import type { Store } from './store.ts'

export interface LetterParts {
  readonly store: Pick<Store, 'mailCodes'>
  readonly table: AllowanceTable
  readonly clock: { now(): number }
  readonly ids: { bytes(size: number): Uint8Array }
  readonly secret: Uint8Array
}

/** What a letter is for, before anything of it is made. */
export type LetterOrder = Pick<NewLetter, 'address' | 'mailbox' | 'network' | 'known' | 'passwordHash' | 'invite'> & {
  /** The token that the asking browser keeps. */
  readonly browser: string
}

/** What is to be written into it. */
export interface LetterSecrets {
  /** Null where no code may be guessed just now: then the link alone proves. */
  readonly code: string | null
  readonly link: string
}

/** What a letter brought back. */
export type Proof = Pick<NewLetter, 'address' | 'passwordHash' | 'invite'>

export class Letters {
  readonly #parts: LetterParts

  constructor(parts: LetterParts) {
    this.#parts = parts
  }

  /** @throws Busy */
  async write(order: LetterOrder): Promise<LetterSecrets> {
    const { store, table, clock, ids, secret } = this.#parts
    const at = clock.now()
    const code = mintMailCode((size) => ids.bytes(size))
    const link = mintToken((size) => ids.bytes(size))
    const browser = hashToken(order.browser)
    const letter = { ...order, browser, link: hashToken(link), codeHash: hashMailCode(secret, browser, order.address, code), at }
    const verdict = await store.mailCodes.put(letter, at - lettersCountFor(table), (recent) => judgeLetter(letter, recent, table))
    if (verdict.kind === 'wait') throw new Busy(verdict.until - at, 'link')
    return { code: verdict.tries > 0 ? code : null, link }
  }

  /** The right code uses up the letter; a wrong one a try. */
  async enterCode(address: string, code: string, browserToken: string): Promise<Proof | undefined> {
    const { store, clock, secret } = this.#parts
    const browser = hashToken(browserToken)
    const letter = await store.mailCodes.attempt(browser, address, clock.now())
    const given = hashMailCode(secret, browser, address, code)
    if (letter === undefined || !sameHash(letter.codeHash, given)) return undefined
    // Somebody else entered the same right code a moment before: it is good for one session.
    if (!(await store.mailCodes.consumeCode(letter.link))) return undefined
    return { address, passwordHash: letter.passwordHash, invite: letter.invite }
  }

  /** Whose letter it is; nothing is used up, because programs open links too. */
  async look(link: string): Promise<string | undefined> {
    const { store } = this.#parts
    if (!looksLikeToken(link)) return undefined
    return (await store.mailCodes.look(hashToken(link), this.#linksSince()))?.address
  }

  /** Uses up the letter. A password asked for with it counts only in the browser that asked: elsewhere it may be a stranger's. */
  async openLink(link: string, browserToken: string | null): Promise<Proof | undefined> {
    const { store } = this.#parts
    if (!looksLikeToken(link)) return undefined
    const letter = await store.mailCodes.consumeLink(hashToken(link), this.#linksSince())
    if (letter === undefined) return undefined
    const own = browserToken !== null && sameHash(hashToken(browserToken), letter.browser)
    return { address: letter.address, passwordHash: own ? letter.passwordHash : null, invite: letter.invite }
  }

  /** Forgets the letters that count no more. */
  async sweep(): Promise<void> {
    const { store, table, clock } = this.#parts
    await store.mailCodes.sweep(clock.now() - lettersCountFor(table))
  }

  #linksSince(): number {
    return this.#parts.clock.now() - linkLifeMs(this.#parts.table)
  }
}
