/** The audit log: one record for each event that matters to an account's security. No secrets, no complete addresses. */
import type { ClientInfo } from './client-info.ts'
import type { AttemptLimits } from './limits/attempt-limits.ts'
import type { AuditActor } from './operators/operator-actor.ts'

export const auditEvents = [
  'account_created',
  'signed_in',
  'sign_in_failed',
  'signed_out',
  'session_ended',
  'password_changed',
  'provider_linked',
  'provider_unlinked',
  'provider_refused',
  'email_changed',
  'key_made',
  'key_revoked',
  'device_approved',
  'device_denied',
  'device_signed_in',
  'app_approved',
  'app_denied',
  'plan_changed',
  'code_redeemed',
  'codes_made',
  'codes_revoked',
  'credits_adjusted',
  'order_created',
  'order_paid',
  'order_granted',
  'order_not_granted',
  'order_closed',
  'order_refund_started',
  'order_refunded',
  'order_refund_failed',
  'order_disputed',
  'order_renewal_cancelled',
  'account_disabled',
  'account_enabled',
  'account_deletion_waiting',
  'account_deleted',
  'sign_in_email_sent',
  'role_changed',
  'second_factor_set',
  'second_factor_removed',
  'second_factor_failed',
  'recovery_codes_made',
  'recovery_code_used',
  'passkey_added',
  'passkey_removed',
  'console_opened',
  'console_closed',
  'operator_key_made',
  'operator_key_revoked',
  'target_taken_out',
  'target_brought_back',
  'target_tried',
  'notice_added',
  'notice_changed',
  'notice_ended',
] as const
export type AuditEvent = (typeof auditEvents)[number]

export interface AuditRecord {
  /** `aud_` + 26 characters, time-sortable. */
  readonly id: string
  /** Null if the account is unknown. */
  readonly account: string | null
  readonly event: AuditEvent
  readonly at: number
  /** The client's IP address, masked; null for the operator's actions. */
  readonly address: string | null
  readonly requestId: string | null
  /** Small and harmless facts: the method, a key's id and name, a plan. */
  readonly detail: Readonly<Record<string, string | number | boolean | null>> | null
  /** The operator who acted; null for members and for the server. Members do not see it. */
  readonly actor: AuditActor | null
  /** Why the operator acted. Members see it only where `detail` has it too: where it concerns their money. */
  readonly reason: string | null
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

/** Writes one audit record. `client` is null if no request caused the event; `detail` marks the operator's actions. */
export type AuditWriter = (
  event: AuditEvent,
  account: string | null,
  client: Pick<ClientInfo, 'ip' | 'network' | 'requestId'> | null,
  detail: AuditRecord['detail'],
  by?: AuditAuthor,
) => Promise<void>

/** The operator behind a record, and why they acted. */
export interface AuditAuthor {
  readonly actor: AuditActor
  readonly reason: string | null
}

/**
 * What tells that someone got into the console, which other events of the account must not push out. What causes them is bounded: a code or a
 * challenge for each, five guesses an hour.
 */
const consoleEvents: ReadonlySet<AuditEvent> = new Set<AuditEvent>([
  'second_factor_set',
  'second_factor_failed',
  'recovery_codes_made',
  'recovery_code_used',
  'passkey_added',
  'passkey_removed',
  'console_opened',
  'console_closed',
])

/**
 * Creates the only writer of the audit log. Requests can cause a bounded number of records an hour for each account; further ones are dropped.
 * Failed sign-ins, which strangers cause, have bounds of their own, so that they hide nothing else: those of a known account by account, all
 * others by network and together. The operator's records are never dropped.
 */
export function createAuditWriter({
  store,
  attemptLimits,
  clock,
  ids,
}: {
  readonly store: { readonly audit: Pick<Audit, 'record'> }
  /** Null for a writer of the operator's records alone. */
  readonly attemptLimits: Pick<AttemptLimits, 'tryConsume'> | null
  readonly clock: { now(): number }
  readonly ids: { next(prefix: string, now: number): string }
}): AuditWriter {
  return async (event, account, client, detail, by) => {
    const at = clock.now()
    if (client !== null && attemptLimits !== null && by === undefined && !consoleEvents.has(event)) {
      const fits =
        event === 'sign_in_failed' || event === 'provider_refused'
          ? await fitsFailures(attemptLimits, account, client.network, at)
          : await attemptLimits.tryConsume('audit-by-account', account ?? 'none', at)
      if (!fits) return
    }
    const address = client === null ? null : maskIp(client.ip)
    await store.audit.record({
      id: ids.next('aud_', at),
      account,
      event,
      at,
      address,
      requestId: client?.requestId ?? null,
      detail,
      actor: by?.actor ?? null,
      reason: by?.reason ?? null,
    })
  }
}

/** Counts twice in either case, so that the time of a failure does not depend on whether the account exists. */
async function fitsFailures(
  attemptLimits: Pick<AttemptLimits, 'tryConsume'>,
  account: string | null,
  network: string,
  at: number,
): Promise<boolean> {
  const fitsNetwork = await attemptLimits.tryConsume('audit-failures-by-network', network, at)
  if (account !== null) return attemptLimits.tryConsume('audit-failures-by-account', account, at)
  // A network above its bound must not use up the bound of all, so it counts as another subject.
  return attemptLimits.tryConsume('audit-failures', fitsNetwork ? 'all' : 'rest', at).then((fits) => fits && fitsNetwork)
}

/** The same for the operator's actions on an account; members see them among their security events. */
export function asOperator(
  writeAudit: AuditWriter,
): (event: AuditEvent, account: string, detail?: AuditRecord['detail']) => Promise<void> {
  return (event, account, detail = null) => writeAudit(event, account, null, { by: 'operator', ...detail })
}

/** An address as the log may keep it: enough to recognise a network, not a person. */
export function maskIp(ip: string): string {
  if (ip.includes(':')) {
    const groups = ip.split('::')[0]?.split(':').slice(0, 3) ?? []
    return `${groups.join(':')}::x`
  }
  const lastDot = ip.lastIndexOf('.')
  return lastDot === -1 ? ip : `${ip.slice(0, lastDot)}.x`
}

/** `a***@example.com`: enough for the owner to recognise it. */
export function maskEmail(email: string | null): string | null {
  if (email === null) return null
  const at = email.lastIndexOf('@')
  return `${email.slice(0, 1)}***${email.slice(at)}`
}
