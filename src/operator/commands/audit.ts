/** `svc-gateway audit`: the security events, newest first. */
import type { AuditEvent, AuditQuery, AuditRecord } from '../../domain/identity/audit.ts'
import { auditEvents } from '../../domain/identity/audit.ts'
import { formatInstant } from '../../domain/instant.ts'
import { parseWholeNumber } from './boost.ts'
import { requireAccount, CommandError, withInstallation } from '../installation.ts'
import { parsePastInstant } from './ledger.ts'
import { drawTable, formatCell, renderResult, shortenId } from '../output.ts'
import { formatTime, formatZone } from '../../system/terminal/format-time.ts'
import { findEmails } from '../find-emails.ts'
import type { OutputOptions, CommandResult } from '../output.ts'

export function audit(
  options: OutputOptions & { account?: string; event?: string; since?: string; limit: string },
): Promise<CommandResult> {
  return withInstallation(async (installation) => {
    const query: AuditQuery = {
      limit: parseWholeNumber('--limit', options.limit),
      ...(options.account === undefined ? {} : { account: (await requireAccount(installation, options.account)).id }),
      ...(options.event === undefined ? {} : { event: parseAuditEvent(options.event) }),
      ...(options.since === undefined ? {} : { since: parsePastInstant('--since', options.since, installation) }),
    }
    const records = await installation.store.audit.list(query)
    const emails = await findEmails(
      installation,
      records.flatMap(({ account }) => account ?? []),
    )
    const nameOf = (account: string | null) => (account === null ? '-' : (emails.get(account) ?? account))
    const now = installation.clock.now()
    return renderResult(
      options,
      {
        object: 'list',
        data: records.map((record) => ({
          id: record.id,
          account: record.account,
          email: record.account === null ? null : (emails.get(record.account) ?? null),
          event: record.event,
          at: formatInstant(record.at),
          address: record.address,
          request_id: record.requestId,
          detail: record.detail,
          actor: record.actor,
          reason: record.reason,
        })),
      },
      () =>
        drawTable(records, [
          { heading: `at (${formatZone(now)})`, cell: (record) => formatTime(record.at, 'en', now) },
          { heading: 'account', cell: (record) => nameOf(record.account) },
          { heading: 'event', cell: (record) => record.event },
          { heading: 'address', cell: (record) => formatCell(record.address), drop: 1 },
          { heading: 'by', cell: (record) => describeActor(record.actor), drop: 3 },
          { heading: 'detail', cell: (record) => describeDetail(record.detail) },
          {
            heading: 'request id',
            cell: (record) => formatCell(record.requestId),
            short: (record) => shortenId(record.requestId),
            drop: 2,
          },
        ]),
    )
  })
}

function describeActor(actor: AuditRecord['actor']): string {
  if (actor === null) return '-'
  return `${actor.kind} ${actor.key ?? actor.account ?? actor.system_user ?? ''}`.trim()
}

/** `plan: pro, until: 24 Dec` instead of JSON. */
function describeDetail(detail: unknown): string {
  if (typeof detail !== 'object' || detail === null)
    return formatCell(detail === null || detail === undefined ? null : String(detail))
  return Object.entries(detail)
    .map(([name, value]) => `${name.replaceAll('_', ' ')}: ${typeof value === 'object' ? JSON.stringify(value) : String(value)}`)
    .join(', ')
}

/** An unknown event name is refused, because an empty list would look as if nothing had happened. */
function parseAuditEvent(text: string): AuditEvent {
  const event = auditEvents.find((known) => known === text)
  if (event === undefined) throw new CommandError(`--event must be one of ${auditEvents.join(', ')}, not '${text}'.`)
  return event
}
