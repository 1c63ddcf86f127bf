/** The tables of endpoints in the documentation, between marks that name their area. */
import type { z } from 'zod'
import { addressesOf } from '../src/api/endpoint.ts'
import type { Endpoint } from '../src/api/endpoint.ts'
import { areas } from '../src/api/endpoints.ts'
import { jsonSchemaOf } from './openapi.ts'

interface Shape {
  readonly $ref?: string
  readonly $defs?: Readonly<Record<string, Shape>>
  readonly const?: unknown
  readonly enum?: readonly unknown[]
  readonly anyOf?: readonly Shape[]
  readonly oneOf?: readonly Shape[]
  readonly type?: string | readonly string[]
  readonly properties?: Readonly<Record<string, Shape>>
  readonly required?: readonly string[]
  readonly items?: Shape
}

const marks = /<!-- endpoints: (.+?) -->\n[^]*?<!-- end -->/g

/** The text with each of its tables as it is now. */
export function withTables(text: string): string {
  return text.replaceAll(marks, (_, area: string) => `<!-- endpoints: ${area} -->\n${tableOf(area)}\n<!-- end -->`)
}

function tableOf(area: string): string {
  const list = Object.entries(areas).find(([name]) => name === area)?.[1]
  if (list === undefined) throw new Error(`there is no area '${area}'; there are: ${Object.keys(areas).join(', ')}.`)
  const rows = list
    .map(({ endpoint }) => endpoint)
    .toSorted((one, other) => (one.path < other.path ? -1 : 1))
    .map(rowOf)
  const table = ['| Endpoint | Who | What it does | Sent | Answer | Failures of its own |', '|---|---|---|---|---|---|', ...rows]
  const shared = sharedIn(list.flatMap(({ endpoint: { answer } }) => (answer === undefined ? [] : [answer])))
  return [...table, ...(shared.length === 0 ? [] : ['', ...shared])].join('\n')
}

/** What the names in the cells stand for. */
function sharedIn(answers: readonly z.ZodType[]): readonly string[] {
  const shapes = new Map(answers.flatMap((answer) => Object.entries((jsonSchemaOf(answer, 'output') as Shape).$defs ?? {})))
  return [...shapes]
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .map(([name, shape]) => `- ${name}: ${code(drawn(shape))}`)
}

function rowOf(endpoint: Endpoint): string {
  const { method, who, about, query, body, answer, media, status, errors, alsoAt = [] } = endpoint
  const names =
    query === undefined
      ? ''
      : `?${Object.keys(query.shape)
          .map((name) => `${name}=`)
          .join('&')}`
  const also = alsoAt.length === 0 ? '' : `, also at ${alsoAt.map(code).join(', ')}`
  const answers = [
    ...(status === undefined ? [] : [String(status)]),
    ...(answer === undefined ? [] : [code(shapeOf(answer, 'output'))]),
    ...(media === undefined ? [] : [code(media)]),
  ]
  const cells = [
    `${code(`${method.toUpperCase()} ${addressesOf(endpoint)[0]}${names}`)}${also}`,
    who,
    about,
    body === undefined ? '' : code(shapeOf(body, 'input')),
    answers.join(' '),
    errors.map(code).join(' '),
  ]
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`
}

function code(text: string): string {
  return `\`${text}\``
}

/** Its names, as in `{ok: true, id, name?}`; what is shared by its own. */
function shapeOf(schema: z.ZodType, io: 'input' | 'output'): string {
  const whole = jsonSchemaOf(schema, io) as Shape
  const own = whole.$ref === undefined ? whole : whole.$defs?.[nameOf(whole.$ref)]
  return drawn(own ?? whole)
}

function drawn(shape: Shape): string {
  if (shape.$ref !== undefined) return nameOf(shape.$ref)
  if (shape.const !== undefined) return JSON.stringify(shape.const)
  // A long list of words is for the document.
  if (shape.enum !== undefined) return shape.enum.length > 6 ? '' : shape.enum.map((value) => JSON.stringify(value)).join(' | ')
  const choices = shape.anyOf ?? shape.oneOf
  if (choices !== undefined) return [...new Set(choices.map(drawn).filter((text) => text !== ''))].join(' | ')
  if (shape.type === 'array') return `[${(shape.items && drawn(shape.items)) || '…'}]`
  if (shape.properties === undefined) return ''
  const { properties, required = [] } = shape
  const fields = Object.entries(properties).map(([name, field]) => {
    const what = drawn(field)
    return `${name}${required.includes(name) ? '' : '?'}${what === '' ? '' : `: ${what}`}`
  })
  return `{${fields.join(', ')}}`
}

function nameOf(reference: string): string {
  return reference.slice(reference.lastIndexOf('/') + 1)
}
