/** `openapi.json`: the endpoints of `src/api` as an OpenAPI 3.1 document, with the catalogue of failures. */
import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { failuresOf } from '../src/api/endpoint.ts'
import type { Asker, Endpoint } from '../src/api/endpoint.ts'
import { areas } from '../src/api/endpoints.ts'
import { envelope } from '../src/api/envelope.ts'
import { catalogue } from '../src/errors.ts'
import type { Code } from '../src/errors.ts'

type Json = Readonly<Record<string, unknown>>

const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as { readonly version: string }

/** The document, the same each time. */
export function openapi(): Json {
  const schemas: Record<string, unknown> = {}
  const schemaOf = (schema: z.ZodType, io: 'input' | 'output'): Json => {
    const { $defs = {}, ...whole } = jsonSchemaOf(schema, io) as { readonly $defs?: Json }
    for (const [name, definition] of Object.entries($defs)) schemas[name] = named(definition)
    return named(whole) as Json
  }
  const failure = schemaOf(envelope, 'output')
  const paths: Record<string, Record<string, unknown>> = {}
  for (const [area, list] of Object.entries(areas))
    for (const { name, endpoint } of list)
      (paths[endpoint.path] ??= {})[endpoint.method] = operation(name, area, endpoint, failure, schemaOf)
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
    tags: Object.keys(areas).map((name) => ({ name })),
    paths: Object.fromEntries(Object.entries(paths).toSorted(([one], [other]) => (one < other ? -1 : 1))),
    components: {
      schemas: Object.fromEntries(Object.entries(schemas).toSorted(([one], [other]) => (one < other ? -1 : 1))),
      securitySchemes: {
        cookie: { type: 'apiKey', in: 'cookie', name: 'svc_membership_session', description: 'The website’s session.' },
        session: { type: 'http', scheme: 'bearer', description: 'The token of a session, as device login gives it.' },
        key: { type: 'http', scheme: 'bearer', description: 'An API key.' },
        operator: { type: 'http', scheme: 'bearer', description: 'The token of `metrics.token`.' },
      },
    },
    'x-failures': catalogue,
  }
}

function operation(
  name: string,
  area: string,
  endpoint: Endpoint,
  failure: Json,
  schemaOf: (schema: z.ZodType, io: 'input' | 'output') => Json,
): Json {
  const { who, about, path, query, body } = endpoint
  const parameters = [...inPath(path), ...(query === undefined ? [] : inQuery(schemaOf(query, 'input')))]
  return {
    operationId: name,
    tags: [area],
    summary: about,
    security: security[who],
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(body === undefined ? {} : { requestBody: { required: true, content: json(schemaOf(body, 'input')) } }),
    responses: { ...successOf(endpoint, schemaOf), ...failuresByStatus(endpoint, failure, schemaOf) },
  }
}

const security: Readonly<Record<Asker, readonly Json[]>> = {
  anybody: [],
  visitor: [],
  link: [],
  cookie: [{ cookie: [] }],
  session: [{ cookie: [] }, { session: [] }],
  caller: [{ key: [] }, { session: [] }, { cookie: [] }],
  operator: [{ operator: [] }],
}

function successOf({ status = 200, answer, media }: Endpoint, schemaOf: (schema: z.ZodType, io: 'output') => Json): Json {
  const content = {
    ...(answer === undefined ? {} : json(schemaOf(answer, 'output'))),
    ...(media === undefined ? {} : { [media]: {} }),
  }
  return { [status]: { description: 'Done.', ...(Object.keys(content).length === 0 ? {} : { content }) } }
}

/** Each status with the codes that have it; the texts stand in `x-failures`. */
function failuresByStatus(endpoint: Endpoint, failure: Json, schemaOf: (schema: z.ZodType, io: 'output') => Json): Json {
  const byStatus = Map.groupBy(failuresOf(endpoint), (code: Code): number => catalogue[code].status)
  const all = new Map<number, Json>()
  for (const [status, codes] of byStatus)
    all.set(status, { description: codes.map((code) => `\`${code}\``).join(', '), content: json(failure) })
  for (const [status, schema] of Object.entries(endpoint.others ?? {})) {
    const codes = byStatus.get(Number(status)) ?? []
    const own = schemaOf(schema, 'output')
    const description = ['In a form of its own', ...codes.map((code) => `\`${code}\``)].join(', ')
    all.set(Number(status), { description, content: json(codes.length === 0 ? own : { anyOf: [own, failure] }) })
  }
  return Object.fromEntries([...all].toSorted(([one], [other]) => one - other))
}

function inPath(path: string): Json[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({ name, in: 'path', required: true, schema: { type: 'string' } }))
}

function inQuery({ properties = {} }: { readonly properties?: Json }): Json[] {
  return Object.entries(properties).map(([name, schema]) => ({ name, in: 'query', schema }))
}

function json(schema: Json): Json {
  return { 'application/json': { schema } }
}

/** Without what says nothing to a reader: that additions are forbidden (they are not), and patterns of formats that have a name. */
export function jsonSchemaOf(schema: z.ZodType, io: 'input' | 'output'): Json {
  const { $schema: _, ...whole } = z.toJSONSchema(schema, {
    io,
    override({ jsonSchema }) {
      if (jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties
      if (jsonSchema.format !== undefined) delete jsonSchema.pattern
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum
      if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum
    },
  })
  return whole
}

/** Shared schemas stand among the document's components. */
function named(schema: unknown): unknown {
  return JSON.parse(JSON.stringify(schema).replaceAll('#/$defs/', '#/components/schemas/'))
}
