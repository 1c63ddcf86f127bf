/** The values of an upstream or a product as the configuration has them, each with where it comes from. Never a secret. */
import { isDeepStrictEqual } from 'node:util'
import type { GatewayConfig } from './config.ts'
import { env } from './config.ts'
import { redactUrl } from './redact-url.ts'
import { productSchema } from './schema/catalog-schema.ts'
import { upstreamSchema } from './schema/upstream-schema.ts'

export interface ConfiguredValue {
  readonly key: string
  /** As it would stand in the file; null for a secret. */
  readonly text: string | null
  /** `secret`: whether it is set. */
  readonly isSet: boolean
  readonly source: 'default' | 'file' | 'environment'
  /** The variables that have this value. */
  readonly variables: readonly string[]
}

export function listUpstreamValues({ upstreams }: GatewayConfig, name: string): readonly ConfiguredValue[] {
  const upstream = upstreams[name]
  if (upstream === undefined) return []
  const defaults: Readonly<Record<string, unknown>> = upstreamSchema.parse({ baseUrl: 'demo' })
  return Object.entries(upstream).map(([key, value]) => {
    const isDefault = key !== 'baseUrl' && isDeepStrictEqual(value, defaults[key])
    if (key === 'apiKey') return describeSecret(key, value, isDefault)
    if (key === 'headers') return describeSecret(key, Object.keys(Object(value)).length === 0 ? null : value, isDefault)
    const shownValue = key === 'baseUrl' && value !== 'demo' ? redactUrl(String(value)) : value
    return describeValue(key, value, { isDefault, shown: shownValue })
  })
}

export function listProductValues({ products }: GatewayConfig, id: string): readonly ConfiguredValue[] {
  const product = products[id]
  if (product === undefined) return []
  const { name, tier, contextLength, maxOutputTokens, targets } = product
  const defaults: Readonly<Record<string, unknown>> = productSchema.parse({ name, tier, contextLength, maxOutputTokens, targets })
  const requiredKeys = new Set(['name', 'tier', 'contextLength', 'maxOutputTokens', 'targets'])
  return Object.entries(product).map(([key, value]) => {
    const models = key === 'targets' ? targets.map(({ model }) => model) : [value]
    return describeValue(key, value, {
      isDefault: !requiredKeys.has(key) && isDeepStrictEqual(value, defaults[key]),
      from: models,
    })
  })
}

/** The lines of the file that hold what differs from the defaults. */
export function formatConfiguredLines(
  path: readonly [section: string, name: string],
  values: readonly ConfiguredValue[],
): string {
  const lines = values
    .filter(({ source, isSet }) => source !== 'default' && isSet)
    .map((value) => `    ${value.key}: ${formatLine(value)},`)
  const [section, name] = path
  return [`${section}: {`, `  ${/^[a-z_]\w*$/i.test(name) ? name : `'${name}'`}: {`, ...lines, '  },', '},'].join('\n')
}

/** A text of the environment stands in the file as its variable. */
function formatLine({ text, variables }: ConfiguredValue): string {
  const [variable] = variables
  if (text === null) return formatSecret(variables)
  return variable !== undefined && text.startsWith("'") ? `env.text('${variable}')` : text
}

/** A secret stands in the file as the variable that it comes from. */
function formatSecret(variables: readonly string[]): string {
  const [variable] = variables
  return variable === undefined ? '… /* set, and not shown */' : `env.secret('${variable.replace(/_FILE$/, '')}')`
}

function describeSecret(key: string, value: unknown, isDefault: boolean): ConfiguredValue {
  const variables = typeof value === 'string' ? env.findVariables(value) : []
  const isSet = value !== null
  return { key, text: null, isSet, source: isDefault ? 'default' : variables.length > 0 ? 'environment' : 'file', variables }
}

interface Described {
  readonly isDefault: boolean
  /** What is shown of it; the value by default. */
  readonly shown?: unknown
  /** The parts that may come from a variable; the value by default. */
  readonly from?: readonly unknown[]
}

function describeValue(key: string, value: unknown, { isDefault, shown = value, from = [value] }: Described): ConfiguredValue {
  // A number may be that of any variable.
  const variables = isDefault
    ? []
    : [...new Set(from.filter((part) => typeof part === 'string').flatMap((part) => env.findVariables(part)))]
  const source = isDefault ? 'default' : variables.length > 0 ? 'environment' : 'file'
  return { key, text: formatLiteral(shown), isSet: true, source, variables }
}

/** JSON with the quotes and names of the file; fields without a value are left out. */
function formatLiteral(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(formatLiteral).join(', ')}]`
  if (typeof value === 'string') return `'${value.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
  if (typeof value !== 'object' || value === null) return String(value)
  const fields = Object.entries(value).filter(([, field]) => field != null)
  return fields.length === 0 ? '{}' : `{ ${fields.map(([name, field]) => `${name}: ${formatLiteral(field)}`).join(', ')} }`
}
