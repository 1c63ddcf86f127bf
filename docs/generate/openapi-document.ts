/** `openapi.json`: the endpoints of `src/api` as an OpenAPI 3.1 document, with the catalogue of failures. */
import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { getErrorCodes } from '../../src/api/endpoint.ts'
import type { Security, Endpoint } from '../../src/api/endpoint.ts'
import { turnCharge } from '../../src/api/usage.ts'
import { endpointsByArea } from '../../src/api/endpoints.ts'
import { envelope, geminiFailure, jsonRpcFailure, messagesFailure, problem, responsesFailure } from '../../src/api/envelope.ts'
import { errorCatalog } from '../../src/errors.ts'
import type { ErrorCode } from '../../src/errors.ts'

type Json = Readonly<Record<string, unknown>>

const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
  readonly version: string
}

/** The document, the same each time. */
export function createOpenApiDocument(): Json {
  const schemas: Record<string, unknown> = {}
  const addSchema = (schema: z.ZodType, io: 'input' | 'output'): Json => {
    const { $defs = {}, ...whole } = toJsonSchema(schema, io) as { readonly $defs?: Json }
    for (const [name, definition] of Object.entries($defs)) schemas[name] = linkSharedSchemas(definition)
    return linkSharedSchemas(whole) as Json
  }
  const failures = {
    envelope: addSchema(envelope, 'output'),
    json_rpc: addSchema(jsonRpcFailure, 'output'),
    problem: addSchema(problem, 'output'),
    responses: addSchema(responsesFailure, 'output'),
    messages: addSchema(messagesFailure, 'output'),
    gemini: addSchema(geminiFailure, 'output'),
  }
  // In the last event of a stream, whose media type has no schema.
  addSchema(turnCharge, 'output')
  const paths: Record<string, Record<string, unknown>> = {}
  for (const [area, list] of Object.entries(endpointsByArea))
    for (const { name, endpoint } of list)
      (paths[endpoint.path] ??= {})[endpoint.method] = createOperation(
        name,
        area,
        endpoint,
        failures[endpoint.failureFormat ?? 'envelope'],
        addSchema,
      )
  return {
    openapi: '3.1.0',
    info: {
      title: 'svc-gateway',
      version,
      license: { name: 'MIT', identifier: 'MIT' },
      description:
        'Names that begin with svc carry the brand of the installation. What is under /api/membership is also under /api/membership/v1. Fields may be added to answers.',
    },
    servers: [{ url: 'http://127.0.0.1:8787' }],
    tags: Object.keys(endpointsByArea).map((name) => ({ name })),
    paths: Object.fromEntries(Object.entries(paths).toSorted(([one], [other]) => (one < other ? -1 : 1))),
    components: {
      headers: chargeHeaders,
      schemas: Object.fromEntries(Object.entries(schemas).toSorted(([one], [other]) => (one < other ? -1 : 1))),
      securitySchemes: {
        cookie: { type: 'apiKey', in: 'cookie', name: 'svc_membership_session', description: 'The website’s session.' },
        session: { type: 'http', scheme: 'bearer', description: 'The token of a session, as device login gives it.' },
        key: { type: 'http', scheme: 'bearer', description: 'An API key.' },
        operator: { type: 'http', scheme: 'bearer', description: 'The token of `metrics.token`.' },
        console: { type: 'apiKey', in: 'cookie', name: 'svc_operator_session', description: 'The session of the console.' },
        operatorKey: { type: 'http', scheme: 'bearer', description: 'An operator key.' },
        diagnostic: { type: 'http', scheme: 'bearer', description: 'A token that `svc-gateway doctor` signs.' },
      },
    },
    'x-failures': errorCatalog,
  }
}

function createOperation(
  name: string,
  area: string,
  endpoint: Endpoint,
  failure: Json,
  addSchema: (schema: z.ZodType, io: 'input' | 'output') => Json,
): Json {
  const { security: who, summary, path, query, body, bodyMediaType = 'application/json', operator } = endpoint
  const isOperatorWrite = operator !== undefined && endpoint.method !== 'get'
  const parameters = [
    ...getPathParameters(path),
    ...(isOperatorWrite ? [idempotencyKeyHeader] : []),
    ...(query === undefined ? [] : getQueryParameters(addSchema(query, 'input'))),
  ]
  return {
    operationId: name,
    tags: [area],
    summary: summary,
    security: security[who],
    ...(operator === undefined ? {} : { 'x-operator': operator }),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(body === undefined
      ? {}
      : { requestBody: { required: true, content: { [bodyMediaType]: { schema: addSchema(body, 'input') } } } }),
    responses: { ...createSuccessResponse(endpoint, addSchema), ...createFailureResponses(endpoint, failure, addSchema) },
  }
}

const idempotencyKeyHeader: Json = {
  name: 'Idempotency-Key',
  in: 'header',
  required: true,
  schema: { type: 'string', minLength: 1, maxLength: 255 },
}

const security: Readonly<Record<Security, readonly Json[]>> = {
  public: [],
  same_site: [],
  signed_url: [],
  session_cookie: [{ cookie: [] }],
  session: [{ cookie: [] }, { session: [] }],
  api_credential: [{ key: [] }, { session: [] }, { cookie: [] }],
  operator_token: [{ operator: [] }],
  operator: [{ operatorKey: [] }, { console: [] }],
  diagnostic_token: [{ diagnostic: [] }],
}

function createSuccessResponse(
  { status = 200, response, mediaType, isTurn }: Endpoint,
  addSchema: (schema: z.ZodType, io: 'output') => Json,
): Json {
  const content = {
    ...(response === undefined ? {} : toJsonContent(addSchema(response, 'output'))),
    ...(mediaType === undefined ? {} : { [mediaType]: isTurn === true ? { 'x-last-event': lastEvent } : {} }),
  }
  const headers = isTurn === true ? { headers: chargeHeaderLinks } : {}
  return { [status]: { description: 'Done.', ...headers, ...(Object.keys(content).length === 0 ? {} : { content }) } }
}

/** Of whole answers that ran a turn, also of those that failed and were refunded. */
const chargeHeaders = {
  'x-svc-quota-charged': { description: 'Credits that the turn was charged.', schema: { type: 'integer' } },
  'x-svc-quota-tier': { description: 'Its pool.', schema: { enum: ['fast', 'premium'] } },
  'x-svc-quota-remaining': {
    description: 'Credits left in the window of the pool that has the fewest, without boosts.',
    schema: { type: 'integer' },
  },
  'x-svc-quota-window': { description: 'That window.', schema: { enum: ['day', 'week', 'month'] } },
  'x-svc-quota-reset': { description: 'When that window resets, in Unix seconds.', schema: { type: 'integer' } },
} as const satisfies Json

/** A field of a stream's last event, beside those of its format. */
const lastEvent = { properties: { charge: { $ref: '#/components/schemas/TurnCharge' } } }

const chargeHeaderLinks = Object.fromEntries(
  Object.keys(chargeHeaders).map((name) => [name, { $ref: `#/components/headers/${name}` }]),
)

/** Each status with the codes that have it; the texts stand in `x-failures`. */
function createFailureResponses(endpoint: Endpoint, failure: Json, addSchema: (schema: z.ZodType, io: 'output') => Json): Json {
  const errorCodes = getErrorCodes(endpoint)
  // The clients of these formats differ in the statuses after which they try again, so one failure has several.
  if (endpoint.failureFormat !== undefined && !['json_rpc', 'problem'].includes(endpoint.failureFormat))
    return { default: { description: errorCodes.map((code) => `\`${code}\``).join(', '), content: toJsonContent(failure) } }
  const byStatus = Map.groupBy(errorCodes, (code: ErrorCode): number => errorCatalog[code].status)
  const all = new Map<number, Json>()
  for (const [status, codes] of byStatus)
    all.set(status, {
      description: codes.map((code) => `\`${code}\``).join(', '),
      content:
        endpoint.failureFormat === 'problem' ? { 'application/problem+json': { schema: failure } } : toJsonContent(failure),
    })
  for (const [status, schema] of Object.entries(endpoint.otherResponses ?? {})) {
    const codes = byStatus.get(Number(status)) ?? []
    const own = addSchema(schema, 'output')
    const description = ['In a form of its own', ...codes.map((code) => `\`${code}\``)].join(', ')
    all.set(Number(status), { description, content: toJsonContent(codes.length === 0 ? own : { anyOf: [own, failure] }) })
  }
  for (const [key, mediaType] of Object.entries(endpoint.otherMediaTypes ?? {})) {
    const status = Number(key)
    const { description = 'Done.', content = {} } = (all.get(status) ?? {}) as { description?: string; content?: Json }
    all.set(status, mediaType === null ? { description } : { description, content: { ...content, [mediaType]: {} } })
  }
  return Object.fromEntries([...all].toSorted(([one], [other]) => one - other))
}

function getPathParameters(path: string): Json[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({ name, in: 'path', required: true, schema: { type: 'string' } }))
}

function getQueryParameters({
  properties = {},
  required = [],
}: {
  readonly properties?: Json
  readonly required?: readonly string[]
}): Json[] {
  return Object.entries(properties).map(([name, schema]) => ({
    name,
    in: 'query',
    ...(required.includes(name) ? { required: true } : {}),
    schema,
  }))
}

function toJsonContent(schema: Json): Json {
  return { 'application/json': { schema } }
}

/** Without what says nothing to a reader: that additions to answers are forbidden (they are not), and patterns of formats that have a name. */
export function toJsonSchema(schema: z.ZodType, io: 'input' | 'output'): Json {
  const { $schema: _, ...whole } = z.toJSONSchema(schema, {
    io,
    override({ jsonSchema }) {
      if (io === 'output' && jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties
      if (jsonSchema.format !== undefined) delete jsonSchema.pattern
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum
      if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum
    },
  })
  return whole
}

/** Shared schemas stand among the document's components. */
function linkSharedSchemas(schema: unknown): unknown {
  return JSON.parse(JSON.stringify(schema).replaceAll('#/$defs/', '#/components/schemas/'))
}
