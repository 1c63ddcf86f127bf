/** `svc-gateway audit`: the security events, newest first. */
import type { AuditEvent, AuditQuery } from '../membership/audit.ts'
import { auditEvents } from '../membership/audit.ts'
import { instant } from '../membership/instant.ts'
import { wholeNumber } from './boost.ts'
import { accountOf, CommandError, withInstallation } from './installation.ts'
import { sinceOf } from './ledger.ts'
import { say, table } from './output.ts'
import type { Output, Said } from './output.ts'

export function audit(options: Output & { account?: string; event?: string; since?: string; limit: string }): Promise<Said> {
  return withInstallation(async (installation) => {
    const query: AuditQuery = {
      limit: wholeNumber('--limit', options.limit),
      ...(options.account === undefined ? {} : { account: (await accountOf(installation, options.account)).id }),
      ...(options.event === undefined ? {} : { event: eventOf(options.event) }),
      ...(options.since === undefined ? {} : { since: sinceOf(options.since, installation) }),
    }
    const records = await installation.store.audit.list(query)
    return say(
      options,
      {
        object: 'list',
        data: records.map((record) => ({
          id: record.id,
          account: record.account,
          event: record.event,
          at: instant(record.at),
          address: record.address,
          request_id: record.requestId,
          detail: record.detail,
        })),
      },
      () =>
        table(
          ['at', 'account', 'event', 'address', 'request id', 'detail'],
          records.map((record) => [
            instant(record.at),
            record.account,
            record.event,
            record.address,
            record.requestId,
            record.detail === null ? null : JSON.stringify(record.detail),
          ]),
        ),
    )
  })
}

/** An event that there is none of would be an empty list, which reads as if nothing had happened. */
function eventOf(said: string): AuditEvent {
  const event = auditEvents.find((known) => known === said)
  if (event === undefined) throw new CommandError(`--event must be one of ${auditEvents.join(', ')}, not '${said}'.`)
  return event
}
