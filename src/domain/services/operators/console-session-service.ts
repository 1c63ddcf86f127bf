/**
 * Sessions of the console. They are apart from the member's: they have a cookie of their own, begin with a second factor, and end with the
 * member's session. A shell link opens one without an account, for the person who owns the data anyway.
 */
import { hashToken } from '../../identity/api-key.ts'
import { maskIp } from '../../identity/audit.ts'
import type { AuditWriter } from '../../identity/audit.ts'
import type { ClientInfo } from '../../identity/client-info.ts'
import type { OperatorActor } from '../../identity/operators/operator-actor.ts'
import { toAuditActor } from '../../identity/operators/operator-actor.ts'
import { looksLikeToken, mintToken } from '../../identity/session.ts'
import type { Store } from '../../store.ts'
import type { SecondFactorMethod } from './second-factor-service.ts'

interface ConsoleSessionDeps {
  readonly store: Pick<Store, 'operators'>
  readonly writeAudit: AuditWriter
  readonly clock: { now(): number }
  readonly ids: { next(prefix: string, now: number): string; bytes(size: number): Uint8Array }
}

const minuteMs = 60_000
export const consoleSessionMs = 12 * 60 * minuteMs
export const shellSessionMs = 60 * minuteMs
export const shellLinkMs = 5 * minuteMs

export type ConsoleActor = Extract<OperatorActor, { readonly kind: 'session' | 'shell' }>

export class ConsoleSessionService {
  readonly #deps: ConsoleSessionDeps

  constructor(deps: ConsoleSessionDeps) {
    this.#deps = deps
  }

  /** Whether there is anything that the console could be opened with; elsewhere it does not exist. */
  isOpen(): Promise<boolean> {
    return this.#deps.store.operators.isOpen(this.#deps.clock.now())
  }

  /** Opens a session for a second factor that was just proven; `token` is the cookie's value. */
  async open(
    { account, session, token }: { readonly account: string; readonly session: string; readonly token: string },
    method: SecondFactorMethod,
    client: ClientInfo,
  ): Promise<void> {
    await this.#create({ account, session, systemUser: null }, { token, lifetimeMs: consoleSessionMs, client })
    await this.#deps.writeAudit('console_opened', account, client, { method })
  }

  async resolve(token: string): Promise<ConsoleActor | undefined> {
    if (!looksLikeToken(token)) return undefined
    const { store, clock } = this.#deps
    const operatorSession = await store.operators.findSession(hashToken(token), clock.now())
    if (operatorSession === undefined) return undefined
    const { id: session, account, role, systemUser, verifiedAt } = operatorSession
    if (systemUser !== null) return { kind: 'shell', systemUser, session, verifiedAt }
    return account === null || role === null ? undefined : { kind: 'session', account, role, session, verifiedAt }
  }

  /** After a second factor was proven again in the session. */
  async stepUp(session: string): Promise<void> {
    await this.#deps.store.operators.verifySession(session, this.#deps.clock.now())
  }

  async end(actor: ConsoleActor, client: ClientInfo): Promise<void> {
    await this.#deps.store.operators.endSession(actor.session)
    const account = actor.kind === 'session' ? actor.account : null
    const author = { actor: toAuditActor(actor), reason: null }
    await this.#deps.writeAudit('console_closed', account, client, null, author)
  }

  /** Returns the token of a link that is good once, for five minutes. */
  async createShellLink(systemUser: string): Promise<string> {
    const { store, clock, ids } = this.#deps
    const token = mintToken((size) => ids.bytes(size))
    const createdAt = clock.now()
    await store.operators.createShellLink({
      hash: hashToken(token),
      systemUser,
      createdAt,
      expiresAt: createdAt + shellLinkMs,
    })
    return token
  }

  /** The system user of a link that can be used; changes nothing. */
  async findShellLink(token: string): Promise<string | undefined> {
    const { store, clock } = this.#deps
    return looksLikeToken(token) ? store.operators.findShellLink(hashToken(token), clock.now()) : undefined
  }

  /** Opens a session whose cookie is `token`. False for a link that was used, has expired, or never existed. */
  async openByShellLink(link: string, token: string, client: ClientInfo): Promise<boolean> {
    const { store, clock, writeAudit } = this.#deps
    const systemUser = looksLikeToken(link) ? await store.operators.useShellLink(hashToken(link), clock.now()) : undefined
    if (systemUser === undefined) return false
    await this.#create({ account: null, session: null, systemUser }, { token, lifetimeMs: shellSessionMs, client })
    const author = { actor: { kind: 'shell', system_user: systemUser }, reason: null } as const
    await writeAudit('console_opened', null, client, { method: 'shell', system_user: systemUser }, author)
    return true
  }

  async #create(
    owner: { readonly account: string | null; readonly session: string | null; readonly systemUser: string | null },
    { token, lifetimeMs, client }: { readonly token: string; readonly lifetimeMs: number; readonly client: ClientInfo },
  ): Promise<void> {
    const { store, clock, ids } = this.#deps
    const at = clock.now()
    await store.operators.createSession({
      ...owner,
      id: ids.next('ops_', at),
      hash: hashToken(token),
      address: maskIp(client.ip),
      client: client.name,
      verifiedAt: at,
      createdAt: at,
      expiresAt: at + lifetimeMs,
    })
  }
}
