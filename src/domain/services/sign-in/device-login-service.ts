/** Device login: programs request a token and members decide on it. */
import { createHmac } from 'node:crypto'
import type { Account } from '../../identity/account.ts'
import { hashToken } from '../../identity/api-key.ts'
import { toDisplayName } from '../../identity/display-name.ts'
import { maskIp } from '../../identity/audit.ts'
import type { AuditWriter } from '../../identity/audit.ts'
import type { AttemptLimits } from '../../identity/limits/attempt-limits.ts'
import { deviceIntervalSeconds, deviceCodeLifetimeMs, mintUserCode, parseUserCode } from '../../identity/device-login.ts'
import type { DeviceLogin, DevicePoll } from '../../identity/device-login.ts'
import type { MemberMailer } from '../../member-mailer.ts'
import type { NewSession } from '../../identity/session.ts'
import { sessionLifetimes, looksLikeToken, mintToken } from '../../identity/session.ts'
import type { Store } from '../../store.ts'
import type { ClientInfo } from '../../identity/client-info.ts'

interface DeviceLoginDeps {
  readonly store: Pick<Store, 'accounts' | 'deviceLogins'>
  readonly attemptLimits: AttemptLimits
  readonly mailer: MemberMailer
  readonly writeAudit: AuditWriter
  readonly clock: { now(): number }
  readonly ids: { next(prefix: string, now: number): string; bytes(size: number): Uint8Array }
  readonly secret: Uint8Array
  /** The prefix of session tokens. */
  readonly sessionPrefix: string
}

interface DeviceClient {
  readonly client: string
  readonly version: string | null
  readonly hostname: string | null
}

interface StartedDeviceLogin {
  readonly deviceCode: string
  readonly userCode: string
  readonly expiresInSeconds: number
  readonly intervalSeconds: number
}

export type DevicePollResult =
  | Exclude<DevicePoll, { readonly kind: 'approved' }>
  | {
      readonly kind: 'token'
      readonly token: string
      readonly expiresAt: number
      readonly account: Account
    }

/** A device login as shown to the member. */
export interface DeviceLoginView {
  readonly login: DeviceLogin
  /** Whether it was started from the member's own network. */
  readonly sameNetwork: boolean
}

/** There are 20^8 codes that live ten minutes each: a second attempt is almost never needed. */
const maxMintAttempts = 5

export class DeviceLoginService {
  readonly #deps: DeviceLoginDeps

  constructor(deps: DeviceLoginDeps) {
    this.#deps = deps
  }

  /** @throws TooManyAttempts */
  async start(device: DeviceClient, client: ClientInfo): Promise<StartedDeviceLogin> {
    const { store, attemptLimits, clock, ids } = this.#deps
    const now = clock.now()
    await attemptLimits.consumeForNetwork('device-start', client.network, now)
    const deviceCode = mintToken((size) => ids.bytes(size))
    for (let attempt = 0; attempt < maxMintAttempts; attempt++) {
      const userCode = mintUserCode((size) => ids.bytes(size))
      const isStarted = await store.deviceLogins.start(
        {
          codeHash: hashToken(deviceCode),
          userCode,
          client: device.client,
          clientVersion: toDisplayName(device.version),
          hostname: toDisplayName(device.hostname),
          address: maskIp(client.ip),
          network: this.#hashNetwork(client),
          startedAt: now,
          expiresAt: now + deviceCodeLifetimeMs,
        },
        deviceIntervalSeconds,
      )
      if (isStarted) {
        return { deviceCode, userCode, expiresInSeconds: deviceCodeLifetimeMs / 1000, intervalSeconds: deviceIntervalSeconds }
      }
    }
    throw new Error('no free user code was found')
  }

  /** @throws TooManyAttempts */
  async poll(deviceCode: string, client: ClientInfo): Promise<DevicePollResult> {
    const { store, attemptLimits, mailer, clock, ids, sessionPrefix } = this.#deps
    const now = clock.now()
    await attemptLimits.consumeForNetwork('device-poll', client.network, now)
    if (!looksLikeToken(deviceCode)) return { kind: 'gone' }
    const codeHash = hashToken(deviceCode)
    const pollResult = await store.deviceLogins.poll(codeHash, now)
    if (pollResult.kind !== 'approved') return pollResult
    const token = sessionPrefix + mintToken((size) => ids.bytes(size))
    let device: { readonly client: string; readonly hostname: string | null } | undefined
    const session = await store.deviceLogins.redeem(codeHash, now, (login): NewSession => {
      device = login
      return {
        id: ids.next('ses_', now),
        account: login.account,
        kind: 'cli',
        method: 'device',
        client: login.hostname === null ? login.client : `${login.client} · ${login.hostname}`,
        address: login.address,
        createdAt: now,
        expiresAt: now + sessionLifetimes.cli.absoluteMs,
        hash: hashToken(token),
      }
    })
    const account = session && (await store.accounts.find(session.account))
    if (session === undefined || account === undefined) return { kind: 'gone' }
    await this.#deps.writeAudit('device_signed_in', account.id, client, { session: session.id, client: session.client })
    if (account.email !== null && device !== undefined)
      await mailer.sendDeviceSignedIn({ to: account.email, reader: client.reader }, { ...device, at: now })
    return { kind: 'token', token, expiresAt: session.expiresAt, account }
  }

  /** Shows a live code to the member and binds it to their account. @throws TooManyAttempts after a few wrong codes */
  async inspect(typed: string, account: Account, client: ClientInfo): Promise<DeviceLoginView | undefined> {
    return this.#withAttemptLimits(account, client, async (now) => {
      const code = parseUserCode(typed)
      const login = code === null ? undefined : await this.#deps.store.deviceLogins.claim(code, account.id, now)
      return login && { login, sameNetwork: login.network === this.#hashNetwork(client) }
    })
  }

  /** @throws TooManyAttempts after a few wrong codes, or after many decisions: each writes an audit record, and an approval sends an email */
  async decide(
    typed: string,
    decision: 'approved' | 'denied',
    account: Account,
    client: ClientInfo,
  ): Promise<DeviceLogin | undefined> {
    return this.#withAttemptLimits(account, client, async (now) => {
      const code = parseUserCode(typed)
      await this.#deps.attemptLimits.consume('device-decision-by-account', account.id, now)
      const login = code === null ? undefined : await this.#deps.store.deviceLogins.decide(code, account.id, decision, now)
      if (login !== undefined) {
        await this.#deps.writeAudit(decision === 'approved' ? 'device_approved' : 'device_denied', account.id, client, {
          client: login.client,
          hostname: login.hostname,
        })
      }
      return login
    })
  }

  /** Counts every attempt before it is made and uncounts it if it was right, so that parallel guesses stay within the limit. */
  async #withAttemptLimits<Result>(
    account: Account,
    client: ClientInfo,
    work: (now: number) => Promise<Result | undefined>,
  ): Promise<Result | undefined> {
    const { attemptLimits, clock } = this.#deps
    const now = clock.now()
    await attemptLimits.consume('user-code-by-account', account.id, now)
    await attemptLimits.consumeForNetwork('user-code-by-network', client.network, now)
    const result = await work(now)
    if (result !== undefined) {
      await attemptLimits.restore('user-code-by-account', account.id)
      await attemptLimits.restoreForNetwork('user-code-by-network', client.network)
    }
    return result
  }

  #hashNetwork({ network }: ClientInfo): string {
    return createHmac('sha256', this.#deps.secret).update(`network\0${network}`).digest('base64url').slice(0, 22)
  }
}
