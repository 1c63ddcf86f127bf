/** The operator API about records: the audit log, reports of usage, and the state of the server. */
import { z } from 'zod'
import { reportDimensions } from '../../domain/billing/report.ts'
import { auditEvents } from '../../domain/identity/audit.ts'
import { defineEndpoint } from '../endpoint.ts'
import { instant } from '../fields.ts'
import { boundInstant, createPageSchema, cursor, pageLimit } from './fields.ts'

export const auditRecord = z
  .strictObject({
    id: z.string(),
    account: z.string().nullable(),
    event: z.enum(auditEvents),
    at: instant,
    address: z.string().nullable().meta({ description: 'Masked; null for commands and the server itself.' }),
    request_id: z.string().nullable(),
    detail: z
      .record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.null()]))
      .nullable()
      .meta({ description: 'What changed, such as `before` and `after`.' }),
    actor: z
      .strictObject({
        kind: z.enum(['session', 'unverified', 'shell', 'key', 'command']),
        account: z.string().optional(),
        key: z.string().optional(),
        session: z.string().optional(),
        system_user: z.string().optional(),
      })
      .nullable()
      .meta({ description: 'The operator; null for members and the server.' }),
    reason: z.string().nullable(),
  })
  .meta({ id: 'OperatorAuditRecord' })

const shared = { security: 'operator', failureFormat: 'problem', method: 'get' } as const

export const listAuditRecords = defineEndpoint({
  ...shared,
  path: '/api/operator/v1/audit',
  operator: { scope: 'audit:read' },
  summary: 'Lists the audit log, newest first.',
  query: z.object({
    account: z.string().max(64).optional(),
    event: z.enum(auditEvents).optional(),
    since: boundInstant.optional(),
    cursor,
    limit: pageLimit,
  }),
  response: createPageSchema(auditRecord),
  errors: [],
})

const dimensions = z
  .string()
  .max(64)
  .default('day')
  .transform((list) => list.split(','))
  .pipe(
    z
      .array(z.enum(reportDimensions))
      .min(1)
      .refine((names) => new Set(names).size === names.length, { params: { en: 'has a name twice', zh: '含有重复的名称' } }),
  )

export const exportUsageReport = defineEndpoint({
  ...shared,
  path: '/api/operator/v1/reports/usage.csv',
  operator: { scope: 'money:read', needsStepUp: true },
  summary: 'Exports usage and money by account, product, plan, upstream, key or day, as `svc-gateway report --csv` does.',
  query: z.object({
    by: dimensions.meta({ description: 'Names with commas between.' }),
    from: boundInstant.optional(),
    to: boundInstant.optional(),
  }),
  mediaType: 'text/csv',
  errors: ['temporarily_unavailable'],
})

export const showSystem = defineEndpoint({
  ...shared,
  path: '/api/operator/v1/system',
  operator: { scope: 'audit:read' },
  summary: 'Returns versions, why the server is not ready or limited, and the state of the database.',
  response: z.strictObject({
    version: z.string(),
    node_version: z.string(),
    time: instant,
    is_ready: z.boolean(),
    reasons: z.array(z.string()).meta({ description: 'Why no turns are accepted.' }),
    notes: z.array(z.string()).meta({ description: 'What needs the operator, and stops nothing.' }),
    database: z.array(z.strictObject({ what: z.string(), ok: z.boolean(), detail: z.string() })).meta({
      description: 'Checks of a database that several nodes share; empty on SQLite.',
    }),
  }),
  errors: [],
})
