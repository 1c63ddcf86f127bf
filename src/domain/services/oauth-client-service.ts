/** Registers OAuth clients and records members' consents. The protocol around it is in `src/access/oauth/`. */
import type { Account } from '../identity/account.ts'
import type { AttemptLimits } from '../identity/limits/attempt-limits.ts'
import { hashToken } from '../identity/api-key.ts'
import type { OAuthClientMetadata } from '../identity/oauth-client.ts'
import { maskIp } from '../identity/audit.ts'
import type { AuditWriter } from '../identity/audit.ts'
import type { MemberMailer } from '../member-mailer.ts'
import { sessionLifetimes, mintToken } from '../identity/session.ts'
import type { Store } from '../store.ts'
import type { ClientInfo } from '../identity/client-info.ts'

interface OAuthClientDeps {
  readonly store: Pick<Store, 'oauthClients'>
  readonly attemptLimits: AttemptLimits
  /** Called when an account's credentials changed, so that cached copies are dropped. */
  readonly onCredentialsChanged: (account: string) => void
  readonly mailer: MemberMailer
  readonly writeAudit: AuditWriter
  readonly clock: { now(): number }
  readonly ids: { next(prefix: string, now: number): string; bytes(size: number): Uint8Array }
}

/** A client as shown to the member. */
export interface RequestingClient {
  readonly id: string
  readonly name: string
}

/** Registration is open to strangers, so the number of clients is bounded. */
const maxClients = 5_000
/** How long a client has to fetch its first token; a consent without a token ends then. */
const firstTokenTimeoutMs = 120_000

export class OAuthClientService {
  readonly #deps: OAuthClientDeps

  constructor(deps: OAuthClientDeps) {
    this.#deps = deps
  }

  /** Returns the new client's id; undefined if no more clients fit. `toMetadata` receives that id. @throws TooManyAttempts */
  async register(
    createMetadata: (id: string, now: number) => OAuthClientMetadata,
    client: ClientInfo,
  ): Promise<OAuthClientMetadata | undefined> {
    const { store, attemptLimits, clock, ids } = this.#deps
    const now = clock.now()
    await attemptLimits.consumeForNetwork('app-register', client.network, now)
    const id = ids.next('app_', now)
    const metadata = createMetadata(id, now)
    return (await store.oauthClients.register({ id, metadata, createdAt: now }, maxClients)) ? metadata : undefined
  }

  /**
   * Creates the session of the client's tokens; undefined if the account may not have one. @throws TooManyAttempts after many decisions: each
   * writes an audit record, and an approval sends an email
   */
  async grantConsent(app: RequestingClient, account: Account, client: ClientInfo): Promise<string | undefined> {
    const { store, attemptLimits, mailer, clock, ids } = this.#deps
    const now = clock.now()
    await attemptLimits.consume('app-decision-by-account', account.id, now)
    const id = ids.next('ses_', now)
    const session = {
      id,
      account: account.id,
      kind: 'app',
      method: 'consent',
      client: app.name,
      app: app.id,
      address: maskIp(client.ip),
      createdAt: now,
      expiresAt: now + firstTokenTimeoutMs,
      // Every session needs a token; this one's is never issued.
      hash: hashToken(mintToken((size) => ids.bytes(size))),
    } as const
    if (!(await store.oauthClients.createConsent(session))) return undefined
    this.#deps.onCredentialsChanged(account.id)
    await this.#deps.writeAudit('app_approved', account.id, client, { session: id, client: app.name })
    if (account.email !== null)
      await mailer.sendDeviceSignedIn({ to: account.email, reader: client.reader }, { client: app.name, hostname: null, at: now })
    return id
  }

  /** @throws TooManyAttempts */
  async denyConsent(app: RequestingClient, account: Account, client: ClientInfo): Promise<void> {
    const { attemptLimits, writeAudit, clock } = this.#deps
    await attemptLimits.consume('app-decision-by-account', account.id, clock.now())
    await writeAudit('app_denied', account.id, client, { client: app.name })
  }

  /** The latest possible end of a consent. */
  getConsentExpiry({ createdAt }: { readonly createdAt: number }): number {
    return createdAt + sessionLifetimes.app.absoluteMs
  }
}
