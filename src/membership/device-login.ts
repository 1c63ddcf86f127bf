/**
 * Device login (RFC 8628, with RFC 10027's cautions): a program shows a code, a person who is signed in approves it on the website, the
 * program's next poll gets a session token, once.
 *
 * pending → claimed → approved → redeemed; pending or claimed → denied; all but the last end after ten minutes.
 */
import type { NewSession } from './session.ts'

export type DeviceState = 'pending' | 'claimed' | 'approved' | 'denied' | 'redeemed'

export interface DeviceLogin {
  readonly codeHash: Uint8Array
  /** `XXXX-XXXX`. */
  readonly userCode: string
  readonly client: string
  readonly clientVersion: string | null
  readonly hostname: string | null
  /** Masked. */
  readonly address: string
  /** Keyed hash of the address prefix, to tell the person whether it is their own network. */
  readonly network: string
  readonly state: DeviceState
  readonly account: string | null
  readonly startedAt: number
  readonly expiresAt: number
}

export type NewDeviceLogin = Omit<DeviceLogin, 'state' | 'account'>

export type Poll =
  /** `hurried`: the poll came before the interval was over; the interval has grown. */
  | { readonly kind: 'waiting'; readonly hurried: boolean; readonly intervalSeconds: number; readonly expiresAt: number }
  | { readonly kind: 'approved' }
  | { readonly kind: 'denied' }
  | { readonly kind: 'expired' }
  /** Unknown, or its token has been given out. */
  | { readonly kind: 'gone' }

export interface DeviceLogins {
  /** False when the user code is taken: mint another. */
  start(login: NewDeviceLogin, intervalSeconds: number): Promise<boolean>
  poll(codeHash: Uint8Array, now: number): Promise<Poll>
  /**
   * Turns an approved code into a session, in one step: of any number of callers exactly one gets it. `undefined` for the others, and
   * where the account may not sign in any more.
   */
  redeem(
    codeHash: Uint8Array,
    now: number,
    toSession: (login: {
      readonly client: string
      readonly hostname: string | null
      readonly address: string
      readonly account: string
    }) => NewSession,
  ): Promise<NewSession | undefined>
  /** Makes a live code the viewer's; undefined when there is none or it is another's. */
  claim(userCode: string, account: string, now: number): Promise<DeviceLogin | undefined>
  /** Undefined when the code is not live, is another's, or has been decided on. */
  decide(userCode: string, account: string, decision: 'approved' | 'denied', now: number): Promise<DeviceLogin | undefined>
  sweep(at: number): Promise<void>
}

export const deviceLifeMs = 600_000
export const deviceIntervalSeconds = 5

/** Twenty consonants: no vowels, so no words; nothing that looks like something else. 20^8 is about 34.6 bits. */
const letters = 'BCDFGHJKLMNPQRSTVWXZ'

/** `XXXX-XXXX`. */
export function mintUserCode(random: (size: number) => Uint8Array): string {
  let code = ''
  while (code.length < 8) {
    for (const byte of random(8)) {
      // 240 = 12 × 20: bytes above would favour the first letters.
      if (byte < 240 && code.length < 8) code += letters[byte % 20] ?? ''
    }
  }
  return `${code.slice(0, 4)}-${code.slice(4)}`
}

/** What a person typed, as it was issued: capitals, punctuation and spaces do not count. Null when it cannot be a code. */
export function toUserCode(typed: string): string | null {
  if (typed.length > 64) return null
  const bare = typed.toUpperCase().replaceAll(/[^A-Z0-9]/g, '')
  if (bare.length !== 8 || [...bare].some((letter) => !letters.includes(letter))) return null
  return `${bare.slice(0, 4)}-${bare.slice(4)}`
}
