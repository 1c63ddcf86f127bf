/**
 * The storage adapter of oidc-provider. Values are stored as hashes. A grant is the session created by the member's consent, so that ending
 * one ends the other. The library's browser sessions are not stored: our cookie alone identifies the member.
 */
import type { Adapter, AdapterPayload } from 'oidc-provider'
import { hashToken } from '../../domain/identity/api-key.ts'
import { accessTokenKind, refreshTokenKind } from '../../domain/identity/oauth-client.ts'
import { getSessionExpiry } from '../../domain/identity/session.ts'
import type { OAuthDeps } from './oauth-deps.ts'
import { getToolsResource, toolsScope } from './metadata.ts'

/** `createError` makes the library's error for an invalid value. */
export function createAdapter(kind: string, deps: OAuthDeps, createError: (reason: string) => Error): Adapter {
  switch (kind) {
    case 'Client':
      return { ...emptyAdapter, find: (id) => deps.store.oauthClients.find(id) }
    case 'Grant':
      return createGrantAdapter(deps)
    case 'Session':
      return emptyAdapter
    default:
      return createRecordAdapter(kind, deps, createError)
  }
}

/**
 * A client whose connection broke during a refresh has not received its new tokens and sends the old refresh token again. That is no theft for
 * so long, as long as none of the new tokens has been used.
 */
const refreshGraceMs = 30_000

const emptyAdapter: Adapter = {
  upsert: async () => undefined,
  find: async () => undefined,
  findByUserCode: async () => undefined,
  findByUid: async () => undefined,
  consume: async () => undefined,
  destroy: async () => undefined,
  revokeByGrantId: async () => undefined,
}

function createGrantAdapter(deps: OAuthDeps): Adapter {
  const { store, clock } = deps
  return {
    ...emptyAdapter,
    async find(id) {
      const session = await store.oauthClients.findConsent(id)
      if (session === undefined || getSessionExpiry(session) <= clock.now()) return undefined
      return {
        jti: session.id,
        kind: 'Grant',
        accountId: session.account,
        clientId: session.app,
        resources: { [getToolsResource(deps)]: toolsScope },
        iat: toSeconds(session.createdAt),
        exp: toSeconds(getSessionExpiry(session)),
      }
    },
    destroy: (id) => endConsent(id, deps),
  }
}

async function endConsent(id: string, { store, credentials }: OAuthDeps): Promise<void> {
  const session = await store.oauthClients.findConsent(id)
  if (session === undefined) return
  await store.sessions.end(session.account, id)
  credentials.invalidateEverywhere(session.account)
}

function createRecordAdapter(kind: string, deps: OAuthDeps, createError: (reason: string) => Error): Adapter {
  const { store, membership, credentials, clock } = deps
  const { oauthClients } = store
  return {
    ...emptyAdapter,
    async upsert(id, { jti: token, ...payload }, expiresIn = 0) {
      if (token !== undefined && token !== id) throw new Error('a record has one value')
      const now = clock.now()
      const session = payload.grantId ?? null
      const record = { kind, hash: hashToken(id), session, payload, expiresAt: now + expiresIn * 1000 }
      if (kind !== accessTokenKind) return oauthClients.saveRecord(record)
      const approval = session === null ? undefined : await oauthClients.findConsent(session)
      const isIssued =
        approval !== undefined &&
        (await oauthClients.issueAccessToken(
          { ...record, session: approval.id },
          now,
          membership.oauthClients.getConsentExpiry(approval),
        ))
      if (!isIssued) throw createError('the consent has ended')
      // The previous token may be cached, and is invalid now.
      credentials.invalidateEverywhere(approval.account)
    },
    async find(id) {
      const record = await oauthClients.findRecord(kind, hashToken(id))
      if (record === undefined) return undefined
      // `consume` decides whether a refresh token may be used again; the library refuses a consumed one before.
      const isUsable =
        record.consumedAt === null || (kind === refreshTokenKind && clock.now() - record.consumedAt <= refreshGraceMs)
      const consumedField = isUsable ? {} : { consumed: toSeconds(record.consumedAt) }
      return { ...(record.payload as AdapterPayload), ...consumedField, jti: id }
    },
    async consume(id) {
      const hash = hashToken(id)
      const isFirst =
        kind === refreshTokenKind
          ? await oauthClients.useRefreshToken(hash, clock.now(), refreshGraceMs)
          : await oauthClients.consumeRecord(kind, hash, clock.now())
      if (isFirst) return
      // Two concurrent requests used one value, and both found it unused. As with later reuse, the thief and the owner cannot be distinguished.
      const session = (await oauthClients.findRecord(kind, hash))?.session
      if (typeof session === 'string') await endConsent(session, deps)
      throw createError('already used')
    },
    destroy: (id) => oauthClients.deleteRecord(kind, hashToken(id)),
    revokeByGrantId: (session) => oauthClients.deleteRecordsOfSession(kind, session),
  }
}

function toSeconds(at: number): number {
  return Math.floor(at / 1000)
}
