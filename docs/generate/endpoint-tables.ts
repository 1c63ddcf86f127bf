/** The endpoint tables of `docs/api.md`, between marks. */
import type { z } from 'zod'
import { getPaths } from '../../src/api/endpoint.ts'
import type { Endpoint } from '../../src/api/endpoint.ts'
import { endpointsByArea } from '../../src/api/endpoints.ts'
import type { NamedEndpoint } from '../../src/api/endpoints.ts'
import { toJsonSchema } from './openapi-document.ts'

interface JsonSchema {
  readonly $ref?: string
  readonly $defs?: Readonly<Record<string, JsonSchema>>
  readonly const?: unknown
  readonly enum?: readonly unknown[]
  readonly anyOf?: readonly JsonSchema[]
  readonly oneOf?: readonly JsonSchema[]
  readonly type?: string | readonly string[]
  readonly properties?: Readonly<Record<string, JsonSchema>>
  readonly required?: readonly string[]
  readonly items?: JsonSchema
}

const tableMarker = /<!-- endpoints -->\n[^]*?<!-- end -->/

/** The text with its tables as they are now, a section for each area. */
export function updateTables(text: string): string {
  const sections = Object.entries(endpointsByArea).map(([area, list]) => `### ${area}\n\n${renderTable(list)}`)
  return text.replace(tableMarker, () => `<!-- endpoints -->\n${sections.join('\n\n')}\n<!-- end -->`)
}

function renderTable(list: readonly NamedEndpoint[]): string {
  const rows = list
    .map(({ endpoint }) => endpoint)
    .toSorted((one, other) => (one.path < other.path ? -1 : 1))
    .map(renderRow)
  const table = [
    '| Endpoint | Authentication | Description | Request | Response | Own errors |',
    '|---|---|---|---|---|---|',
    ...rows,
  ]
  const shared = renderSharedSchemas(list.flatMap(({ endpoint: { response } }) => (response === undefined ? [] : [response])))
  return [...table, ...(shared.length === 0 ? [] : ['', ...shared])].join('\n')
}

/** What the names in the cells stand for. */
function renderSharedSchemas(answers: readonly z.ZodType[]): readonly string[] {
  const shapes = new Map(answers.flatMap((answer) => Object.entries((toJsonSchema(answer, 'output') as JsonSchema).$defs ?? {})))
  return [...shapes]
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .map(([name, shape]) => `- ${name}: ${toCode(describeShape(shape))}`)
}

function renderRow(endpoint: Endpoint): string {
  const { method, security, summary, query, body, response, mediaType, status, errors, aliases = [] } = endpoint
  const names =
    query === undefined
      ? ''
      : `?${Object.keys(query.shape)
          .map((name) => `${name}=`)
          .join('&')}`
  const also = aliases.length === 0 ? '' : `, also at ${aliases.map(toCode).join(', ')}`
  const answers = [
    ...(status === undefined ? [] : [String(status)]),
    ...(response === undefined ? [] : [toCode(describeSchema(response, 'output'))]),
    ...(mediaType === undefined ? [] : [toCode(mediaType)]),
  ]
  const cells = [
    `${toCode(`${method.toUpperCase()} ${getPaths(endpoint)[0]}${names}`)}${also}`,
    security,
    summary,
    body === undefined ? '' : toCode(describeSchema(body, 'input')),
    answers.join(' '),
    errors.map(toCode).join(' '),
  ]
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`
}

function toCode(text: string): string {
  return `\`${text}\``
}

/** Its names, as in `{ok: true, id, name?}`; what is shared by its own. */
function describeSchema(schema: z.ZodType, io: 'input' | 'output'): string {
  const whole = toJsonSchema(schema, io) as JsonSchema
  const own = whole.$ref === undefined ? whole : whole.$defs?.[getReferenceName(whole.$ref)]
  return describeShape(own ?? whole)
}

function describeShape(shape: JsonSchema): string {
  if (shape.$ref !== undefined) return getReferenceName(shape.$ref)
  if (shape.const !== undefined) return JSON.stringify(shape.const)
  // A long list of words is for the document.
  if (shape.enum !== undefined) return shape.enum.length > 6 ? '' : shape.enum.map((value) => JSON.stringify(value)).join(' | ')
  const choices = shape.anyOf ?? shape.oneOf
  if (choices !== undefined) return [...new Set(choices.map(describeShape).filter((text) => text !== ''))].join(' | ')
  if (shape.type === 'array') return `[${(shape.items && describeShape(shape.items)) || '…'}]`
  if (shape.properties === undefined) return ''
  const { properties, required = [] } = shape
  const fields = Object.entries(properties).map(([name, field]) => {
    const what = describeShape(field)
    return `${name}${required.includes(name) ? '' : '?'}${what === '' ? '' : `: ${what}`}`
  })
  return `{${fields.join(', ')}}`
}

function getReferenceName(reference: string): string {
  return reference.slice(reference.lastIndexOf('/') + 1)
}
