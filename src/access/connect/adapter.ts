/**
 * The library's storage, on our store. Words are kept as their hashes. A grant is the session that the member's approval made, so that
 * ending one ends the other. The library's own browser sessions are not kept at all: who is signed in is known from our cookie alone.
 */
import type { Adapter, AdapterPayload } from 'oidc-provider'
import { hashToken } from '../../membership/api-key.ts'
import { accessTokenKind } from '../../membership/app.ts'
import { endOf } from '../../membership/session.ts'
import type { ConnectParts } from './parts.ts'
import { toolsResource, toolsScope } from './metadata.ts'

/** `refuse` makes the library's own error for a word that is worth nothing. */
export function adapterFor(kind: string, parts: ConnectParts, refuse: (why: string) => Error): Adapter {
  switch (kind) {
    case 'Client':
      return { ...nothing, find: (id) => parts.store.apps.find(id) }
    case 'Grant':
      return grants(parts)
    case 'Session':
      return nothing
    default:
      return records(kind, parts, refuse)
  }
}

const nothing: Adapter = {
  upsert: async () => undefined,
  find: async () => undefined,
  findByUserCode: async () => undefined,
  findByUid: async () => undefined,
  consume: async () => undefined,
  destroy: async () => undefined,
  revokeByGrantId: async () => undefined,
}

function grants(parts: ConnectParts): Adapter {
  const { store, clock } = parts
  return {
    ...nothing,
    async find(id) {
      const session = await store.apps.approval(id)
      if (session === undefined || endOf(session) <= clock.now()) return undefined
      return {
        jti: session.id,
        kind: 'Grant',
        accountId: session.account,
        clientId: session.app,
        resources: { [toolsResource(parts)]: toolsScope },
        iat: seconds(session.createdAt),
        exp: seconds(endOf(session)),
      }
    },
    destroy: (id) => end(id, parts),
  }
}

async function end(id: string, { store, credentials }: ConnectParts): Promise<void> {
  const session = await store.apps.approval(id)
  if (session === undefined) return
  await store.sessions.end(session.account, id)
  credentials.forgetAccount(session.account)
}

function records(kind: string, parts: ConnectParts, refuse: (why: string) => Error): Adapter {
  const { store, membership, credentials, clock } = parts
  const { apps } = store
  return {
    ...nothing,
    async upsert(id, { jti: word, ...payload }, expiresIn = 0) {
      if (word !== undefined && word !== id) throw new Error('a record is known by one word')
      const now = clock.now()
      const session = payload.grantId ?? null
      const record = { kind, hash: hashToken(id), session, payload, expiresAt: now + expiresIn * 1000 }
      if (kind !== accessTokenKind) return apps.keep(record)
      const approval = session === null ? undefined : await apps.approval(session)
      const armed =
        approval !== undefined && (await apps.arm({ ...record, session: approval.id }, now, membership.apps.endOf(approval)))
      if (!armed) throw refuse('the approval has ended')
      // The token before this one is remembered, and over.
      credentials.forgetAccount(approval.account)
    },
    async find(id) {
      const found = await apps.look(kind, hashToken(id))
      if (found === undefined) return undefined
      const consumed = found.consumedAt === null ? {} : { consumed: seconds(found.consumedAt) }
      return { ...(found.payload as AdapterPayload), ...consumed, jti: id }
    },
    async consume(id) {
      const hash = hashToken(id)
      if (await apps.consume(kind, hash, clock.now())) return
      // Two at once came with one word, which both found unused. As when one comes later: nobody knows which is the thief.
      const session = (await apps.look(kind, hash))?.session
      if (typeof session === 'string') await end(session, parts)
      throw refuse('already used')
    },
    destroy: (id) => apps.drop(kind, hashToken(id)),
    revokeByGrantId: (session) => apps.dropOf(kind, session),
  }
}

function seconds(at: number): number {
  return Math.floor(at / 1000)
}
