/** The words of an event: a title and a text for people, a JSON body for programs. */
import type { IncidentKind, NotificationEvent } from '../domain/notification.ts'
import { formatInstant } from '../domain/instant.ts'
import { formatDuration } from '../system/duration.ts'

/** For people. `subject` and `time` are for templates. */
export interface EventMessage {
  readonly title: string
  readonly text: string
  readonly kind: string
  readonly phase: string
  readonly subject: string
  readonly time: string
  readonly service: string
}

/** Every chat takes a text of this size; WeCom's are the shortest. */
const maxTextBytes = 1_800
const maxTitleBytes = 200

const titles: Readonly<Record<IncidentKind, { readonly began: string; readonly ended: string }>> = {
  upstream_down: { began: 'an upstream is down', ended: 'an upstream is up again' },
  refusals_high: { began: 'many turns are refused', ended: 'turns are served again' },
  mail_failing: { began: 'emails are not being sent', ended: 'emails are sent again' },
  disk_low: { began: 'a disk is nearly full', ended: 'a disk has room again' },
  ledger_mismatch: { began: 'the ledger has mismatches', ended: 'the ledger adds up again' },
  backup_failed: { began: 'a backup failed', ended: 'a backup was written again' },
  backup_old: { began: 'the newest backup is old', ended: 'there is a new backup' },
  certificate_ending: { began: 'a certificate ends soon', ended: 'a certificate was renewed' },
  node_lost: { began: 'a node was lost', ended: 'a node is back' },
  objective_burning: { began: 'the availability objective is at risk', ended: 'the availability objective is met again' },
  receiver_off: { began: 'a receiver was switched off', ended: 'a receiver was switched on again' },
}

export function renderMessage(event: NotificationEvent, service: string): EventMessage {
  const { kind, phase, subject, at, detail } = event
  return {
    title: truncate(`${service}: ${findTitle(event)}`, maxTitleBytes),
    text: truncate(renderText(event), maxTextBytes),
    kind,
    phase,
    subject: subject ?? event.account ?? '',
    time: formatInstant(at),
    service,
  }

  function renderText({ phase: current }: NotificationEvent): string {
    const text = String(detail['text'] ?? '')
    const beganAt = detail['beganAt']
    if (current !== 'ended' || typeof beganAt !== 'number') return text
    return `Over after ${formatDuration(Math.max(0, at - beganAt))}. It was: ${text}`
  }
}

function findTitle({ kind, phase }: NotificationEvent): string {
  if (kind === 'test') return 'a test of this receiver'
  if (kind === 'account_created') return 'an account was created'
  if (kind === 'plan_changed') return 'a plan was changed'
  if (kind === 'pool_level') return 'a pool has reached a level'
  return titles[kind][phase === 'ended' ? 'ended' : 'began']
}

/** Cuts between characters. */
function truncate(text: string, maxBytes: number): string {
  if (Buffer.byteLength(text) <= maxBytes) return text
  const keptBytes = Buffer.from(text).subarray(0, maxBytes - 3)
  return `${new TextDecoder('utf-8', { fatal: false }).decode(keptBytes, { stream: true })}…`
}

/** The body of a webhook. It names members by their id alone, and is the same at each attempt. */
export function renderWebhookBody(event: NotificationEvent): string {
  return JSON.stringify({ type: findType(event), timestamp: formatInstant(event.at), data: renderData(event) })
}

function findType({ kind, phase }: NotificationEvent): string {
  if (kind === 'account_created') return 'account.created'
  if (kind === 'plan_changed') return 'account.plan_changed'
  if (kind === 'pool_level') return 'pool.level_reached'
  return kind === 'test' ? 'test' : `incident.${kind}.${phase}`
}

function renderData({ kind, account, subject, detail }: NotificationEvent): Record<string, unknown> {
  const toInstant = (at: unknown): string | null => (typeof at === 'number' ? formatInstant(at) : null)
  const { text, beganAt, until, endsAt, ...others } = detail
  if (kind === 'account_created') return { account, ...others }
  if (kind === 'plan_changed') return { account, ...others, until: toInstant(until) }
  if (kind === 'pool_level') return { account, ...others, resets_at: toInstant(endsAt) }
  return { kind, subject, text, ...(beganAt === undefined ? {} : { began_at: toInstant(beganAt) }) }
}
