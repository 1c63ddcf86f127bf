/**
 * Device login (RFC 8628, with the cautions of RFC 10027): a program shows a code, a signed-in person approves it on the website, and the
 * program's next poll returns a session token, once.
 *
 * pending → claimed → approved → redeemed; pending or claimed → denied. Every state but `redeemed` expires after ten minutes.
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
  /** Keyed hash of the address prefix, to show the person whether the login started in their own network. */
  readonly network: string
  readonly state: DeviceState
  readonly account: string | null
  readonly startedAt: number
  readonly expiresAt: number
}

export type NewDeviceLogin = Omit<DeviceLogin, 'state' | 'account'>

export type DevicePoll =
  /** `polledEarly`: the poll came before the interval was over, and the interval has grown. */
  | { readonly kind: 'waiting'; readonly polledEarly: boolean; readonly intervalSeconds: number; readonly expiresAt: number }
  | { readonly kind: 'approved' }
  | { readonly kind: 'denied' }
  | { readonly kind: 'expired' }
  /** Unknown, or its token has been issued. */
  | { readonly kind: 'gone' }

export interface DeviceLogins {
  /** False if the user code is taken: mint another. */
  start(login: NewDeviceLogin, intervalSeconds: number): Promise<boolean>
  poll(codeHash: Uint8Array, now: number): Promise<DevicePoll>
  /**
   * Turns an approved code into a session, atomically: exactly one of several callers gets it. `undefined` for the others, and if the
   * account may no longer sign in.
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
  /** Binds a live code to this account; undefined if there is none or another account has claimed it. */
  claim(userCode: string, account: string, now: number): Promise<DeviceLogin | undefined>
  /** Undefined if the code is not live, belongs to another account, or has been decided. */
  decide(userCode: string, account: string, decision: 'approved' | 'denied', now: number): Promise<DeviceLogin | undefined>
  sweep(at: number): Promise<void>
}

export const deviceCodeLifetimeMs = 600_000
export const deviceIntervalSeconds = 5

/** Twenty consonants: no vowels, hence no words, and no characters that look alike. 20^8 is about 34.6 bits. */
const userCodeAlphabet = 'BCDFGHJKLMNPQRSTVWXZ'

/** `XXXX-XXXX`. */
export function mintUserCode(random: (size: number) => Uint8Array): string {
  let code = ''
  while (code.length < 8) {
    for (const byte of random(8)) {
      // 240 = 12 × 20: larger bytes would favour the first letters.
      if (byte < 240 && code.length < 8) code += userCodeAlphabet[byte % 20] ?? ''
    }
  }
  return `${code.slice(0, 4)}-${code.slice(4)}`
}

/** Normalises what a person typed to the issued form; case, punctuation and spaces are ignored. Null if it cannot be a code. */
export function parseUserCode(input: string): string | null {
  if (input.length > 64) return null
  const normalizedCode = input.toUpperCase().replaceAll(/[^A-Z0-9]/g, '')
  if (normalizedCode.length !== 8 || [...normalizedCode].some((character) => !userCodeAlphabet.includes(character))) return null
  return `${normalizedCode.slice(0, 4)}-${normalizedCode.slice(4)}`
}
