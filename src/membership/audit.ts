/** The audit log: one record for each thing that matters to an account's security. No secrets, no whole addresses. */
import type { Visitor } from './visitor.ts'

export const auditEvents = [
  'account_created',
  'signed_in',
  'sign_in_failed',
  'signed_out',
  'session_ended',
  'password_changed',
  'provider_linked',
  'key_made',
  'key_revoked',
  'device_approved',
  'device_denied',
  'device_signed_in',
  'app_approved',
  'app_denied',
  'plan_changed',
  'account_disabled',
  'account_enabled',
  'account_deleted',
] as const
export type AuditEvent = (typeof auditEvents)[number]

export interface AuditRecord {
  /** `aud_` + 26 characters, time-sortable. */
  readonly id: string
  /** Null where nobody knows whose account was meant. */
  readonly account: string | null
  readonly event: AuditEvent
  readonly at: number
  /** The caller's address, masked; null for what the operator did. */
  readonly address: string | null
  readonly requestId: string | null
  /** Small and harmless: the method, a key's id and name, a plan. */
  readonly detail: Readonly<Record<string, string | number | boolean | null>> | null
}

export interface AuditQuery {
  readonly account?: string
  readonly event?: AuditEvent
  /** Only records older than this id. Newest first. */
  readonly before?: string
  readonly since?: number
  readonly limit: number
}

export interface Audit {
  record(record: AuditRecord): Promise<void>
  list(query: AuditQuery): Promise<readonly AuditRecord[]>
  /** Deletes records from before `at`, at most `limit`; returns how many. */
  sweep(at: number, limit: number): Promise<number>
}

/** Writes one down. `visitor` is null for what nobody asked for over the network; an operator's doing says so in `detail`. */
export type Note = (
  event: AuditEvent,
  account: string | null,
  visitor: Pick<Visitor, 'address' | 'requestId'> | null,
  detail: AuditRecord['detail'],
) => Promise<void>

/** The one way into the log. */
export function notesIn({
  store,
  clock,
  ids,
}: {
  readonly store: { readonly audit: Pick<Audit, 'record'> }
  readonly clock: { now(): number }
  readonly ids: { next(prefix: string, now: number): string }
}): Note {
  return (event, account, visitor, detail) => {
    const at = clock.now()
    const address = visitor === null ? null : maskAddress(visitor.address)
    return store.audit.record({
      id: ids.next('aud_', at),
      account,
      event,
      at,
      address,
      requestId: visitor?.requestId ?? null,
      detail,
    })
  }
}

/** The same for what the operator does to an account; members see it among their security events. */
export function byOperator(note: Note): (event: AuditEvent, account: string, detail?: AuditRecord['detail']) => Promise<void> {
  return (event, account, detail = null) => note(event, account, null, { by: 'operator', ...detail })
}

/** An address as a log may keep it: enough to recognise a network by, not a person. */
export function maskAddress(address: string): string {
  if (address.includes(':')) {
    const groups = address.split('::')[0]?.split(':').slice(0, 3) ?? []
    return `${groups.join(':')}::x`
  }
  const cut = address.lastIndexOf('.')
  return cut === -1 ? address : `${address.slice(0, cut)}.x`
}

/** `a***@example.com`: enough for its owner. */
export function maskEmail(email: string | null): string | null {
  if (email === null) return null
  const at = email.lastIndexOf('@')
  return `${email.slice(0, 1)}***${email.slice(at)}`
}
