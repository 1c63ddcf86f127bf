/** Where programs ask for a token and people decide on it. */
import { createHmac } from 'node:crypto'
import type { Account } from './account.ts'
import { hashToken } from './api-key.ts'
import { maskAddress } from './audit.ts'
import type { Note } from './audit.ts'
import type { Allowances } from './allowances.ts'
import { deviceIntervalSeconds, deviceLifeMs, mintUserCode, toUserCode } from './device-login.ts'
import type { DeviceLogin, Poll } from './device-login.ts'
import type { MemberMail } from './member-mail.ts'
import type { NewSession } from './session.ts'
import { lifetimes, looksLikeToken, mintToken } from './session.ts'
import type { Store } from './store.ts'
import type { Visitor } from './visitor.ts'

export interface DeviceParts {
  readonly store: Pick<Store, 'accounts' | 'devices'>
  readonly allowances: Allowances
  readonly mail: MemberMail
  readonly note: Note
  readonly clock: { now(): number }
  readonly ids: { next(prefix: string, now: number): string; bytes(size: number): Uint8Array }
  readonly secret: Uint8Array
  /** What a session token begins with. */
  readonly sessionPrefix: string
}

export interface DeviceClient {
  readonly client: string
  readonly version: string | null
  readonly hostname: string | null
}

export interface StartedDevice {
  readonly deviceCode: string
  readonly userCode: string
  readonly expiresInSeconds: number
  readonly intervalSeconds: number
}

export type PollAnswer =
  | Exclude<Poll, { readonly kind: 'approved' }>
  | {
      readonly kind: 'token'
      readonly token: string
      readonly expiresAt: number
      readonly account: Account
    }

/** A device login as its viewer sees it. */
export interface SeenDevice {
  readonly login: DeviceLogin
  /** Whether it was started from the viewer's own network. */
  readonly sameNetwork: boolean
}

/** Twenty to the eighth codes and ten minutes each: a second try is as good as never needed. */
const mintTries = 5

export class DeviceDesk {
  readonly #parts: DeviceParts

  constructor(parts: DeviceParts) {
    this.#parts = parts
  }

  /** @throws Busy */
  async start(device: DeviceClient, visitor: Visitor): Promise<StartedDevice> {
    const { store, allowances, clock, ids } = this.#parts
    const now = clock.now()
    await allowances.take('device-start', visitor.network, now)
    const deviceCode = mintToken((size) => ids.bytes(size))
    for (let tries = 0; tries < mintTries; tries++) {
      const userCode = mintUserCode((size) => ids.bytes(size))
      const started = await store.devices.start(
        {
          codeHash: hashToken(deviceCode),
          userCode,
          client: device.client,
          clientVersion: device.version,
          hostname: device.hostname,
          address: maskAddress(visitor.address),
          network: this.#networkOf(visitor),
          startedAt: now,
          expiresAt: now + deviceLifeMs,
        },
        deviceIntervalSeconds,
      )
      if (started) {
        return { deviceCode, userCode, expiresInSeconds: deviceLifeMs / 1000, intervalSeconds: deviceIntervalSeconds }
      }
    }
    throw new Error('no free user code was found')
  }

  /** @throws Busy */
  async poll(deviceCode: string, visitor: Visitor): Promise<PollAnswer> {
    const { store, allowances, mail, clock, ids, sessionPrefix } = this.#parts
    const now = clock.now()
    await allowances.take('device-poll', visitor.network, now)
    if (!looksLikeToken(deviceCode)) return { kind: 'gone' }
    const codeHash = hashToken(deviceCode)
    const polled = await store.devices.poll(codeHash, now)
    if (polled.kind !== 'approved') return polled
    const token = sessionPrefix + mintToken((size) => ids.bytes(size))
    let device: { readonly client: string; readonly hostname: string | null } | undefined
    const session = await store.devices.redeem(codeHash, now, (login): NewSession => {
      device = login
      return {
        id: ids.next('ses_', now),
        account: login.account,
        kind: 'cli',
        method: 'device',
        client: login.hostname === null ? login.client : `${login.client} · ${login.hostname}`,
        address: login.address,
        createdAt: now,
        expiresAt: now + lifetimes.cli.absoluteMs,
        hash: hashToken(token),
      }
    })
    const account = session && (await store.accounts.find(session.account))
    if (session === undefined || account === undefined) return { kind: 'gone' }
    await this.#parts.note('device_signed_in', account.id, visitor, { session: session.id, client: session.client })
    if (account.email !== null && device !== undefined) await mail.deviceSignedIn(account.email, { ...device, at: now })
    return { kind: 'token', token, expiresAt: session.expiresAt, account }
  }

  /** Shows a live code to its viewer, whose it is from then on. @throws Busy after a few wrong ones */
  async look(typed: string, account: Account, visitor: Visitor): Promise<SeenDevice | undefined> {
    return this.#guarded(account, visitor, async (now) => {
      const code = toUserCode(typed)
      const login = code === null ? undefined : await this.#parts.store.devices.claim(code, account.id, now)
      return login && { login, sameNetwork: login.network === this.#networkOf(visitor) }
    })
  }

  /** @throws Busy after a few wrong ones */
  async decide(
    typed: string,
    decision: 'approved' | 'denied',
    account: Account,
    visitor: Visitor,
  ): Promise<DeviceLogin | undefined> {
    return this.#guarded(account, visitor, async (now) => {
      const code = toUserCode(typed)
      const login = code === null ? undefined : await this.#parts.store.devices.decide(code, account.id, decision, now)
      if (login !== undefined) {
        await this.#parts.note(decision === 'approved' ? 'device_approved' : 'device_denied', account.id, visitor, {
          client: login.client,
          hostname: login.hostname,
        })
      }
      return login
    })
  }

  /** Every try is counted before it is made, and uncounted when it was right: any number of guesses at once is still so few. */
  async #guarded<Result>(
    account: Account,
    visitor: Visitor,
    work: (now: number) => Promise<Result | undefined>,
  ): Promise<Result | undefined> {
    const { allowances, clock } = this.#parts
    const now = clock.now()
    await allowances.take('user-code-by-account', account.id, now)
    await allowances.take('user-code-by-network', visitor.network, now)
    const result = await work(now)
    if (result !== undefined) {
      await allowances.giveBack('user-code-by-account', account.id)
      await allowances.giveBack('user-code-by-network', visitor.network)
    }
    return result
  }

  #networkOf({ network }: Visitor): string {
    return createHmac('sha256', this.#parts.secret).update(`network\0${network}`).digest('base64url').slice(0, 22)
  }
}
