/** `configuration.md`: every key of the configuration with its type, default, unit and environment variable. */
import { readFileSync, readdirSync } from 'node:fs'
import { z } from 'zod'
import { configSchema } from '../../src/config/schema/config-schema.ts'
import { mergeAttemptLimits } from '../../src/domain/identity/limits/attempt-limits.ts'

interface Schema {
  readonly type?: string | readonly string[]
  readonly const?: unknown
  readonly enum?: readonly unknown[]
  readonly default?: unknown
  readonly minimum?: number
  readonly maximum?: number
  readonly anyOf?: readonly Schema[]
  readonly items?: Schema
  readonly properties?: Readonly<Record<string, Schema>>
  readonly additionalProperties?: Schema | boolean
  readonly required?: readonly string[]
}

/** A key as it stands in an object literal of a source file, with the comment above it. */
interface SourceKey {
  readonly name: string
  readonly comment: string
  readonly value: string
}

interface Row {
  readonly path: string
  readonly type: string
  readonly fallback: string
  readonly unit: string
  readonly variables: readonly string[]
  readonly comment: string
}

const readSource = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')
const schemaSource = readdirSync(new URL('../../src/config/schema/', import.meta.url))
  .map((name) => readSource(`src/config/schema/${name}`))
  .join('')
const shippedSource = readSource('gateway.config.ts')

/** Read by the program and not through a key. */
const variablesOfTheProgram: readonly (readonly [name: string, meaning: string])[] = [
  ['GATEWAY_CONFIG', 'The configuration file to read; without it the shipped `gateway.config.ts`.'],
  ['RELEASES_URL', 'Where `svc-gateway upgrade --to <version>` finds releases ([upgrade.md](upgrade.md)).'],
  ['NODE_EXTRA_CA_CERTS', 'Node’s own: a file of certificates to trust, for an upstream or a database with a private authority.'],
  ['NODE_DISABLE_COMPILE_CACHE', 'Node’s own: `1` keeps compiled code out of the cache folder.'],
]

export function renderConfigurationPage(): string {
  const schema = z.toJSONSchema(configSchema, { io: 'input', unrepresentable: 'any' }) as Schema
  const rows = collectRows(schema, readKeys(schemaSource, 'configSchema'), '')
  const sections = Map.groupBy(rows, ({ path }) => path.split(/[.[]/)[0] ?? path)
  const variables = rows.flatMap(({ path, variables: names }) => names.map((name) => ({ name, path })))
  const byVariable = Map.groupBy(variables, ({ name }) => name)
  return `# Configuration

This page is generated from the schemas in \`src/config/schema/\` and \`gateway.config.ts\` by \`npm run docs\`.
The configuration is one TypeScript file: the shipped \`gateway.config.ts\`, or the file that \`GATEWAY_CONFIG\` names.
It is checked at start, and an unknown key, an empty secret or a limit that could never take effect stops the server with one sentence.
\`npx svc-gateway check\` checks a file without starting the server.
To change parts, import the shipped file and name your own:

\`\`\`ts
// my.config.ts, run with GATEWAY_CONFIG=my.config.ts
import base from 'svc-gateway/gateway.config.js'
import { defineGateway } from 'svc-gateway'

export default defineGateway({ ...base, plans: { ...base.plans, free: { ...base.plans.free, rpm: 5 } } })
\`\`\`

## Environment variables

The shipped file reads these; a file of your own may read others with \`env.text\`, \`env.secret\`, \`env.integer\` and \`env.list\`.
A secret may be in a file: where the table names \`UPSTREAM_API_KEY\`, \`UPSTREAM_API_KEY_FILE\` names a file of one line, which [a reload](operations.md#changing-the-configuration-of-a-running-server) reads again.

| Variable | Key |
|---|---|
${[...byVariable].map(([name, uses]) => `| \`${name}\` | ${uses.map(({ path }) => `\`${path}\``).join(', ')} |`).join('\n')}
${variablesOfTheProgram.map(([name, meaning]) => `| \`${name}\` | ${meaning} |`).join('\n')}

## Keys

\`<name>\` stands for a name that you choose, and \`[]\` for each entry of a list.
A default in *italics* is the value that the shipped file gives to a key that has no default of its own.

${[...sections].map(([name, list]) => renderSection(name, list)).join('\n\n')}

## Attempt limits

\`limits.attempts.<name>\` overrides one of these.

| Name | Times | Within |
|---|---|---|
${Object.entries(mergeAttemptLimits({}))
  .map(([name, { times, withinMs }]) => `| \`${name}\` | ${times} | ${formatDuration(withinMs)} |`)
  .join('\n')}
`
}

function renderSection(name: string, rows: readonly Row[]): string {
  const cells = rows.map(({ path, type, fallback, unit, variables, comment }) =>
    [`\`${path}\``, type, fallback, unit, variables.map((each) => `\`${each}\``).join(' '), comment]
      .map((cell) => cell.replaceAll('|', '\\|'))
      .join(' | '),
  )
  return [
    `### ${name}`,
    '',
    '| Key | Type | Default | Unit | Variable | Meaning |',
    '|---|---|---|---|---|---|',
    ...cells.map((row) => `| ${row} |`),
  ].join('\n')
}

/** The rows of an object, its keys in the schema's order. `keys` are the same keys as the source has them. */
function collectRows(schema: Schema, keys: readonly SourceKey[], prefix: string, inherited: unknown = schema.default): Row[] {
  const rows = Object.entries(schema.properties ?? {}).flatMap(([name, field]) => {
    const key = keys.find((each) => each.name === name)
    const given = isObject(inherited) ? inherited[name] : undefined
    return collectField(field, key, `${prefix}${name}`, schema.required?.includes(name) ?? false, given)
  })
  // Further keys of any name, beside those that have one.
  const { additionalProperties: others } = schema
  return typeof others === 'object' && others.properties !== undefined
    ? [...rows, ...collectRows(others, keys, `${prefix}<name>.`)]
    : rows
}

function collectField(field: Schema, key: SourceKey | undefined, path: string, isRequired: boolean, given: unknown): Row[] {
  const nested = findNested(field, path)
  const comment = key?.comment ?? ''
  if (nested !== null) {
    const inner = collectRows(
      nested.schema,
      key === undefined ? [] : readInnerKeys(key.value),
      `${nested.path}.`,
      given ?? field.default,
    )
    const own: Row = { path, type: nested.label, fallback: '', unit: '', variables: findConditionVariables(path), comment }
    return comment === '' && nested.path === path ? inner : [own, ...inner]
  }
  const fallback = given ?? field.default ?? readDefault(key?.value ?? '')
  const shipped = isRequired && fallback === undefined ? findShippedValue(path) : null
  return [
    {
      path,
      type: describeType(field),
      fallback: fallback === undefined ? (shipped ?? (isRequired ? 'required' : '–')) : formatValue(fallback),
      unit: findUnit(path, comment),
      variables: findVariables(path),
      comment,
    },
  ]
}

/** The default of a field that is transformed: its JSON schema has none. */
function readDefault(value: string): unknown {
  const text = /\.default\((null|true|false|\[\]|'[^']*')\)$/.exec(value)?.[1]
  return text === undefined ? undefined : (JSON.parse(text.replaceAll("'", '"')) as unknown)
}

/** What a field has within it: an object, an object or null, a record or a list of objects. */
function findNested(
  field: Schema,
  path: string,
): { readonly schema: Schema; readonly path: string; readonly label: string } | null {
  if (field.properties !== undefined) return { schema: field, path, label: 'object' }
  const choice = field.anyOf?.find(({ properties }) => properties !== undefined)
  if (choice !== undefined)
    return {
      schema: choice,
      path,
      label: field.anyOf?.map((one) => (one === choice ? 'object' : describeType(one))).join(' or ') ?? '',
    }
  if (typeof field.additionalProperties === 'object' && field.additionalProperties.properties !== undefined)
    return { schema: field.additionalProperties, path: `${path}.<name>`, label: 'objects by name' }
  if (field.items?.properties !== undefined) return { schema: field.items, path: `${path}[]`, label: 'list of objects' }
  return null
}

function describeType(field: Schema): string {
  if (field.const !== undefined) return `\`${JSON.stringify(field.const)}\``
  if (field.enum !== undefined) return field.enum.map((value) => `\`${JSON.stringify(value)}\``).join(' or ')
  if (field.anyOf !== undefined) return field.anyOf.map(describeType).join(' or ')
  if (field.type === 'array') return `list of ${field.items === undefined ? 'values' : describeType(field.items)}`
  if (field.type === 'object' && typeof field.additionalProperties === 'object')
    return `${describeType(field.additionalProperties)} by name`
  if (field.type === 'integer' || field.type === 'number') return `${field.type}${describeRange(field)}`
  if (Array.isArray(field.type)) return field.type.join(' or ')
  return typeof field.type === 'string' ? field.type : 'object'
}

function describeRange({ minimum, maximum }: Schema): string {
  const from = minimum === undefined || minimum === Number.MIN_SAFE_INTEGER ? null : minimum
  const to = maximum === undefined || maximum === Number.MAX_SAFE_INTEGER ? null : maximum
  if (from !== null && to !== null) return `, ${from} to ${to}`
  if (from !== null) return `, at least ${from}`
  return to === null ? '' : `, at most ${to}`
}

function formatValue(value: unknown): string {
  return `\`${JSON.stringify(value)}\``
}

const unitsByEnding: readonly (readonly [ending: RegExp, unit: string])[] = [
  [/Ms$/, 'milliseconds'],
  [/Bytes$/, 'bytes'],
  [/Days$|\.days$/, 'days'],
  [/Rpm$|\.rpm$/, 'requests a minute'],
  [/[Cc]redits$|pools\.\w+\.\w+$/, 'credits'],
  [/Tokens$|contextLength$/, 'tokens'],
  [/Percent$/, 'percent'],
  [/^prices\.\w+\.(?:input|cachedInput|output)$/, 'dollars a million tokens'],
]

function findUnit(path: string, comment: string): string {
  return unitsByEnding.find(([ending]) => ending.test(path))?.[1] ?? (comment.startsWith('Seconds') ? 'seconds' : '')
}

/** The variables that the shipped file reads for this key, also by way of its constants. */
function findVariables(path: string): string[] {
  return [...new Set(findShippedExpressions(path).flatMap(listVariables))]
}

function listVariables(expression: string): string[] {
  const constants = [...expression.replaceAll(/'[^']*'/g, '').matchAll(/\b[a-z]\w*\b/g)].map(
    ([name]) => readConstant(shippedSource, name) ?? '',
  )
  return [expression, ...constants].flatMap((text) => [...text.matchAll(/env\.\w+\('(\w+)'/g)].map(([, name = '']) => name))
}

/** The variables that decide about an object of the shipped file: those before its literal. */
function findConditionVariables(path: string): string[] {
  const conditions = findShippedExpressions(path).map((value) => value.slice(0, Math.max(0, value.indexOf('{'))))
  return [...new Set(conditions.flatMap(listVariables))]
}

/** Null where the file gives several values, or one that is not a plain literal. */
function findShippedValue(path: string): string | null {
  if (path.includes('<name>') || path.includes('[]')) return null
  const [value] = findShippedExpressions(path)
  if (value === undefined) return null
  const fallback = /^env\.\w+\('\w+', (.+)\)$/.exec(value)?.[1] ?? value
  return /^(?:'[^']+'|[\d_.]+)$/.test(fallback) ? `*\`${fallback}\`*` : null
}

/** The source texts behind a key of the shipped file: one, or one for each entry that `<name>` and `[]` stand for. */
function findShippedExpressions(path: string): string[] {
  const start = shippedSource.indexOf('defineGateway({') + 'defineGateway('.length
  return path
    .split('.')
    .flatMap((step) => step.split(/(?=\[\])/))
    .reduce<string[]>(
      (texts, step) => texts.flatMap((text) => stepInto(text, step)),
      [`{${sliceBalanced(shippedSource, start + 1)}}`],
    )
}

function stepInto(text: string, step: string): string[] {
  const literal = (/^\w+$/.test(text) ? readConstant(shippedSource, text) : null) ?? text
  const start = literal.indexOf(step === '[]' ? '[' : '{')
  if (start < 0) return []
  const inside = sliceBalanced(literal, start + 1)
  if (step === '[]') return splitEntries(inside)
  return readObjectKeys(inside)
    .filter(({ name }) => step === '<name>' || name === step)
    .map(({ value }) => value)
}

/** The keys of `const name = z.strictObject({ … })`. */
function readKeys(source: string, name: string): readonly SourceKey[] {
  const at = source.indexOf(`const ${name} = `)
  const start = source.indexOf('strictObject({', at)
  return at < 0 || start < 0 ? [] : readObjectKeys(sliceBalanced(source, start + 'strictObject({'.length))
}

/** The keys of the object that a value has in it: its own literal, or a constant that it names. */
function readInnerKeys(value: string): readonly SourceKey[] {
  const start = value.indexOf('strictObject({')
  const named = [...value.matchAll(/\b\w+Schema\b/g)].flatMap(([name]) => readKeys(schemaSource, name))
  const extended = value.indexOf('extend({')
  return [
    ...(start < 0 ? [] : readObjectKeys(sliceBalanced(value, start + 'strictObject({'.length))),
    ...(extended < 0 ? [] : readObjectKeys(sliceBalanced(value, extended + 'extend({'.length))),
    ...named,
  ]
}

function readConstant(source: string, name: string): string | null {
  return new RegExp(`^(?:export )?const ${name} = (.+)$`, 'm').exec(source)?.[1] ?? null
}

const opening = new Set(['(', '[', '{'])
const closing = new Set([')', ']', '}'])

/** The end of a comment or string that begins at `at`; `at` itself where none does. */
function skipToken(text: string, at: number): number {
  if (text.startsWith('/*', at)) return text.indexOf('*/', at) + 2
  if (text.startsWith('//', at) && text[at - 1] !== '\\') return text.indexOf('\n', at)
  const quote = text[at]
  if (quote !== "'" && quote !== '"' && quote !== '`') return at
  let end = at + 1
  while (end < text.length && text[end] !== quote) end += text[end] === '\\' ? 2 : 1
  return end + 1
}

/** From `from` to the bracket that closes what is open there. */
function sliceBalanced(text: string, from: number): string {
  let depth = 1
  let at = from
  while (at < text.length) {
    const next = skipToken(text, at)
    if (next > at) {
      at = next
      continue
    }
    const character = text.charAt(at)
    if (opening.has(character)) depth++
    if (closing.has(character) && --depth === 0) return text.slice(from, at)
    at++
  }
  throw new Error('A bracket is not closed.')
}

/** The keys on the top level of an object literal's inside. */
function readObjectKeys(text: string): readonly SourceKey[] {
  return splitEntries(text).flatMap((entry) => {
    const match = /^((?:\s*(?:\/\*[^]*?\*\/|\/\/[^\n]*\n))*)\s*['"]?([\w.-]+)['"]?(?::\s*([^]*))?$/.exec(entry)
    if (match === null) return []
    const [, comments = '', name = '', value = name] = match
    return [{ name, comment: toSentence(comments), value: value.trim() }]
  })
}

/** An object literal's inside, cut at its top level's commas. */
function splitEntries(text: string): string[] {
  const entries: string[] = []
  let depth = 0
  let start = 0
  let at = 0
  while (at < text.length) {
    const next = skipToken(text, at)
    if (next > at) {
      at = next
      continue
    }
    const character = text.charAt(at)
    if (opening.has(character)) depth++
    if (closing.has(character)) depth--
    if (character === ',' && depth === 0) {
      entries.push(text.slice(start, at))
      start = at + 1
    }
    at++
  }
  return [...entries, text.slice(start)].filter((entry) => entry.trim() !== '')
}

/** The text of the last documentation comment; ordinary comments are about the code. */
function toSentence(comments: string): string {
  const last = [...comments.matchAll(/\/\*\*([^]*?)\*\//g)].at(-1)?.[1] ?? ''
  return last
    .replaceAll(/\n\s*\*/g, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim()
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function formatDuration(ms: number): string {
  for (const [unit, size] of [
    ['day', 86_400_000],
    ['hour', 3_600_000],
    ['minute', 60_000],
    ['second', 1_000],
  ] as const)
    if (ms >= size && ms % size === 0) return `${ms / size} ${unit}${ms === size ? '' : 's'}`
  return `${ms} ms`
}
