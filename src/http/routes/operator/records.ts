/** The audit log, reports and the state of the server for operators. */
import { Readable } from 'node:stream'
import type { ResponseOf } from '../../../api/endpoint.ts'
import { exportUsageReport, listAuditRecords, showSystem } from '../../../api/operator/audit.ts'
import { createReportFormat, formatCsvLine } from '../../../domain/billing/report-format.ts'
import { mergeDays } from '../../../domain/billing/report.ts'
import type { ReportQuery } from '../../../domain/billing/report.ts'
import type { AuditRecord } from '../../../domain/identity/audit.ts'
import { formatInstant } from '../../../domain/instant.ts'
import { GatewayError, invalidRequest } from '../../../errors.ts'
import type { Services } from '../../../services/services.ts'
import { readVersion } from '../../../system/version.ts'
import type { ServeOperatorEndpoint } from '../../operator-endpoint.ts'
import type { RouteDeps } from '../../route-deps.ts'
import { toPage } from './to-page.ts'

/** Of one thread: each groups all turns, in a thread or on a connection of its own. */
const maxReports = 2

export function mountOperatorRecords(serve: ServeOperatorEndpoint, { services, operations }: RouteDeps): void {
  const { store, clock } = services
  let reports = 0

  serve(listAuditRecords, async ({ query: { account, event, since, cursor, limit } }) => {
    const records = await store.audit.list({
      limit: limit + 1,
      ...(account === undefined ? {} : { account: (await store.accounts.find(account))?.id ?? account }),
      ...(event === undefined ? {} : { event }),
      ...(since === undefined ? {} : { since: Date.parse(since) }),
      ...(cursor === undefined ? {} : { before: cursor }),
    })
    return toPage(records.map(toOperatorAuditRecord), limit)
  })

  serve(exportUsageReport, async ({ ctx, query: { by, from, to } }) => {
    const range = {
      ...(from === undefined ? {} : { from: Date.parse(from) }),
      ...(to === undefined ? {} : { to: Date.parse(to) }),
    }
    if (range.from !== undefined && range.to !== undefined && range.from >= range.to)
      throw invalidRequest({ en: "'from' must be before 'to'.", zh: "'from' 必须早于 'to'。" }, 'from')
    if (reports >= maxReports) throw new GatewayError('temporarily_unavailable')
    ctx.type = 'text/csv; charset=utf-8'
    ctx.set('content-disposition', 'attachment; filename="usage.csv"')
    reports += 1
    const report = Readable.from(writeCsv({ by, ...range }, services))
    report.once('close', () => (reports -= 1))
    ctx.body = report
  })

  serve(showSystem, async () => {
    const { database, isDraining } = operations
    const reasons = [...(isDraining() ? ['draining'] : []), ...(await operations.notReadyReasons())]
    const mailNote = await operations.mailNote()
    return {
      version: readVersion(),
      node_version: process.versions.node,
      time: formatInstant(clock.now()),
      is_ready: reasons.length === 0,
      reasons,
      notes: [...(mailNote === null ? [] : [mailNote]), ...(database?.getNotes() ?? [])],
      database: (await database?.runChecks())?.map(({ what, ok, detail }) => ({ what, ok, detail })) ?? [],
    }
  })
}

async function* writeCsv(query: ReportQuery, { store, calendar, config }: Services): AsyncIterable<string> {
  const format = createReportFormat(query, config.timeZone)
  yield formatCsvLine(format.names)
  for await (const row of mergeDays(store.ledger.report(query), calendar)) yield formatCsvLine(format.toValues(row))
}

export function toOperatorAuditRecord(record: AuditRecord): ResponseOf<typeof listAuditRecords>['data'][number] {
  const { id, account, event, at, address, requestId, detail, actor, reason } = record
  return { id, account, event, at: formatInstant(at), address, request_id: requestId, detail, actor, reason }
}
