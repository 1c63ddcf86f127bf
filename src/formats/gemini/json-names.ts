/** The API reads its fields in two spellings, `inlineData` and `inline_data`; everything else here reads the first. */
import { isObject } from '../shared/fields.ts'

/** Fields whose values are the client's own: data of calls, and schemas. */
const ownValues: ReadonlySet<string> = new Set([
  'args',
  'response',
  'parameters',
  'parametersJsonSchema',
  'responseSchema',
  'responseJsonSchema',
])

/** The object with all its fields in the first spelling; the same one if they are already. */
export function toCamelCase<Value>(value: Value): Value
export function toCamelCase(value: unknown): unknown {
  if (Array.isArray(value)) return mapChanged(value, toCamelCase)
  if (!isObject(value)) return value
  let changedRecord: Record<string, unknown> | null = null
  for (const [name, inner] of Object.entries(value)) {
    const camelCaseName = name.includes('_') ? name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()) : name
    const convertedValue = ownValues.has(camelCaseName) ? inner : toCamelCase(inner)
    if (camelCaseName === name && convertedValue === inner) continue
    changedRecord ??= { ...value }
    if (camelCaseName !== name) delete changedRecord[name]
    changedRecord[camelCaseName] = convertedValue
  }
  return changedRecord ?? value
}

function mapChanged(list: readonly unknown[], map: (value: unknown) => unknown): readonly unknown[] {
  const mappedItems = list.map(map)
  return mappedItems.some((value, i) => value !== list[i]) ? mappedItems : list
}
