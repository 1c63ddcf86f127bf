/** The operator API about turns: found, explained, counted, and as the statement of a member. */
import { z } from 'zod'
import { defineEndpoint } from '../endpoint.ts'
import { count, credits, instant, poolAsTier, text } from '../fields.ts'
import { boundInstant, pageLimit } from './fields.ts'

const shared = { security: 'operator', failureFormat: 'problem', method: 'get' } as const

export const behindMs = z
  .int()
  .nullable()
  .meta({ description: 'How long ago the data was complete: 0 now; null while it is made for the first time.' })

const turnFields = {
  id: z.int(),
  request_id: z.string(),
  member: z.string(),
  key: z.string().meta({ description: 'The id of an API key, or `web`, `cli`, `app`, `jwt`, `unknown`.' }),
  product: z.string(),
  target: z.string().nullable(),
  state: z.enum(['held', 'settled', 'refunded', 'expired']),
  ending: z.string().meta({ description: '`completed`, `aborted`, `expired`, or the code of the failure.' }),
  credits,
  input_tokens: count,
  cached_input_tokens: count,
  output_tokens: count,
  started_at: instant,
  ended_at: instant.nullable(),
  first_token_ms: z.int().nullable(),
  upstream_status: z.int().nullable(),
}
const turnSummary = z.strictObject(turnFields).meta({ id: 'OperatorTurn' })

const span = { from: boundInstant.optional(), to: boundInstant.optional() }
const flag = z.enum(['true', 'false']).transform((typed) => typed === 'true')

const turnFilter = {
  member: text(320).optional().meta({ description: 'Address or id.' }),
  key: text(64).optional().meta({ description: 'The id of a key; `web` and the like need `member`.' }),
  product: text(128).optional(),
  target: z.string().max(256).optional().meta({ description: '`upstream/model`; empty: no upstream was called.' }),
  ending: text(64).optional(),
  plan: text(64).optional().meta({ description: 'The plan of the member when the turn ended.' }),
  failed: flag.optional().meta({ description: '`true`: only turns that failed.' }),
  success: z
    .enum(['rated', 'faults'])
    .optional()
    .meta({ description: '`rated`: turns that count for a share of success; `faults`: of these, the ones that failed.' }),
  request: text(128).optional(),
  ...span,
}

export const searchTurns = defineEndpoint({
  ...shared,
  path: '/api/operator/v1/turns',
  operator: { scope: 'turns:read' },
  summary: 'Lists ended turns, newest first.',
  query: z.object({
    ...turnFilter,
    cursor: z
      .string()
      .regex(/^\d{1,15}\.\d{1,16}$/)
      .optional(),
    limit: pageLimit,
  }),
  response: z.strictObject({
    object: z.literal('list'),
    data: z.array(turnSummary),
    next_cursor: z.string().nullable(),
    behind_ms: behindMs,
  }),
  errors: [],
})

export const exportTurnSearch = defineEndpoint({
  ...shared,
  path: '/api/operator/v1/turns.csv',
  operator: { scope: 'turns:read', needsStepUp: true },
  summary: 'Exports ended turns, newest first, at most 100,000.',
  query: z.object(turnFilter),
  mediaType: 'text/csv',
  errors: [],
})

const parts = z.array(z.strictObject({ from: z.string(), credits }))

export const explainTurn = defineEndpoint({
  ...shared,
  path: '/api/operator/v1/turns/{id}',
  operator: { scope: 'turns:read' },
  summary: 'Returns all that is known of a turn: its attempts, its hold, and who paid. Never the prompt.',
  response: z.strictObject({
    ...turnFields,
    tier: poolAsTier,
    api_format: z.string(),
    requested_model: z.string().nullable(),
    plan: z.string().nullable(),
    upstream_model: z.string().nullable(),
    upstream_response_id: z.string().nullable(),
    estimated: z.boolean(),
    is_charged: z.boolean(),
    reserved: credits,
    held: parts.meta({ description: 'Credits that were held, from `plan` or a pack.' }),
    settled: parts.meta({ description: 'Credits that were charged, to `plan`, a pack, or as `debt`.' }),
    attempts: z
      .array(
        z.strictObject({
          target: z.string(),
          started_ms: z.int(),
          ended_ms: z.int(),
          status: z.int().nullable(),
          failure: z.string().nullable(),
        }),
      )
      .nullable()
      .meta({ description: 'Since the start of the turn. Null for turns of older versions.' }),
    of_same_request: z.array(turnSummary),
  }),
  errors: [],
})

export const listFailures = defineEndpoint({
  ...shared,
  path: '/api/operator/v1/failures',
  operator: { scope: 'turns:read' },
  summary: 'Groups failed turns by code, product and target, most first. The last 24 hours by default, 31 days at most.',
  query: z.object({ member: turnFilter.member, product: turnFilter.product, target: turnFilter.target, ...span }),
  response: z.strictObject({
    object: z.literal('list'),
    data: z.array(
      z.strictObject({
        ending: z.string(),
        product: z.string(),
        target: z.string().nullable(),
        turns: count,
        members: count,
        first_at: instant,
        last_at: instant,
        example: z.strictObject({ id: z.int(), request_id: z.string() }),
      }),
    ),
    behind_ms: behindMs,
  }),
  errors: [],
})

const percentiles = z
  .strictObject({ count, p50: z.int(), p95: z.int(), p99: z.int() })
  .nullable()
  .meta({ description: 'Milliseconds, of completed turns or of the `ending` that is asked for.' })

export const totals = z
  .strictObject({
    turns: count,
    charged: count,
    failed: count,
    credits,
    input_tokens: count,
    cached_input_tokens: count,
    output_tokens: count,
    cost_nanodollars: z.int().nullable().meta({ description: 'Null without `money:read`.' }),
    endings: z.record(z.string(), count),
    duration: percentiles,
    first_token: percentiles,
  })
  .meta({ id: 'TurnTotals' })

export const showTurnSums = defineEndpoint({
  ...shared,
  path: '/api/operator/v1/usage',
  operator: { scope: 'turns:read' },
  summary: 'Returns sums of turns by hour or day. The last 24 hours by default; by hour 8 days at most.',
  query: z.object({
    member: turnFilter.member,
    key: turnFilter.key,
    product: turnFilter.product,
    target: turnFilter.target,
    ending: turnFilter.ending,
    ...span,
    step: z.enum(['hour', 'day']).default('hour').meta({ description: 'Of the time zone of the server.' }),
    by: z
      .enum(['product', 'target', 'ending', 'key'])
      .optional()
      .meta({ description: 'One series for each; `key` needs `member`.' }),
  }),
  response: z.strictObject({
    bounds: z.array(instant).meta({ description: 'When each step begins, and when the last one ends.' }),
    total: totals,
    series: z.array(z.strictObject({ key: z.string(), total: totals, points: z.array(totals) })),
    behind_ms: behindMs,
  }),
  errors: [],
})

export const showMemberStatement = defineEndpoint({
  ...shared,
  path: '/api/operator/v1/members/{id}/statement',
  operator: { scope: 'members:read' },
  summary: 'Lists what changed the balance of a member, newest first, with the balance after each line.',
  query: z.object({ cursor: z.coerce.number().int().min(1).optional(), limit: pageLimit }),
  response: z.strictObject({
    object: z.literal('list'),
    data: z.array(
      z.strictObject({
        seq: z.int(),
        at: instant,
        kind: z.enum(['turn', 'grant', 'adjust', 'open', 'limit']),
        tier: poolAsTier,
        credits,
        turn: z.int().nullable(),
        pack: z.string().nullable(),
        reason: z.string().nullable(),
        product: z.string().nullable(),
        ending: z.string().nullable(),
        plan_left: credits.meta({ description: 'Of the window with the least, after this line; holds are left out.' }),
        packs_left: credits,
      }),
    ),
    next_cursor: z.int().nullable(),
  }),
  errors: ['temporarily_unavailable'],
})
