/** Schemas in the API's own form (a part of OpenAPI 3.0) as JSON Schema, which all other APIs read. */
import type { JsonObject } from '../../exchange/api-format/api-format.ts'
import { isObject } from '../shared/fields.ts'

/** Numbers that clients write as texts, because they are 64 bits wide. */
const countFields: ReadonlySet<string> = new Set([
  'minItems',
  'maxItems',
  'minLength',
  'maxLength',
  'minProperties',
  'maxProperties',
])

/** Fields that JSON Schema does not have. */
const ownFields: ReadonlySet<string> = new Set(['nullable', 'propertyOrdering', 'property_ordering', 'example'])

export function toJsonSchema(schema: JsonObject): JsonObject {
  const convertedSchema: Record<string, unknown> = {}
  for (const [sentName, value] of Object.entries(schema)) {
    if (ownFields.has(sentName)) continue
    const name = sentName.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())
    if (name === 'type') convertedSchema[name] = typeof value === 'string' ? value.toLowerCase() : value
    else if (name === 'properties' && isObject(value))
      convertedSchema[name] = Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, toInner(inner)]))
    else if (name === 'items' || name === 'additionalProperties') convertedSchema[name] = toInner(value)
    else if (name === 'anyOf' || name === 'oneOf' || name === 'allOf')
      convertedSchema[name] = Array.isArray(value) ? value.map(toInner) : value
    else convertedSchema[name] = countFields.has(name) && typeof value === 'string' && value !== '' ? Number(value) : value
  }
  const { type } = convertedSchema
  if (schema['nullable'] === true && typeof type === 'string') convertedSchema['type'] = [type, 'null']
  if (type === 'type_unspecified') delete convertedSchema['type']
  return convertedSchema
}

function toInner(value: unknown): unknown {
  return isObject(value) ? toJsonSchema(value) : value
}
