/**
 * Creates a value that fits a JSON Schema, for tool arguments and structured output. `topic` fills free text. It supports the common
 * keywords (type, enum, const, default, properties, items, anyOf, $ref within the document); unknown formats and patterns may not match, as
 * with a real model.
 */
export function generateFromSchema(schema: unknown, topic: string, root: unknown = schema, depth = 0): unknown {
  if (!isRecord(schema) || depth > maxDepth) return topic
  if (typeof schema['$ref'] === 'string') return generateFromSchema(resolveRef(root, schema['$ref']), topic, root, depth + 1)
  if ('const' in schema) return schema['const']
  if (Array.isArray(schema['enum'])) return schema['enum'][0]
  if ('default' in schema) return schema['default']
  const choice = [schema['anyOf'], schema['oneOf'], schema['allOf']].find((list) => Array.isArray(list) && list.length > 0)
  if (Array.isArray(choice)) return generateFromSchema(choice[0], topic, root, depth + 1)

  const type = Array.isArray(schema['type'])
    ? schema['type'][0]
    : (schema['type'] ?? (isRecord(schema['properties']) ? 'object' : 'string'))
  switch (type) {
    case 'object': {
      const properties = Object.entries(isRecord(schema['properties']) ? schema['properties'] : {})
      return Object.fromEntries(properties.map(([name, inner]) => [name, generateFromSchema(inner, topic, root, depth + 1)]))
    }
    case 'array': {
      const length = Math.min(10, Math.max(1, toNumber(schema['minItems'], 1)))
      return Array.from({ length }, () => generateFromSchema(schema['items'], topic, root, depth + 1))
    }
    case 'integer':
    case 'number':
      return toNumber(schema['minimum'], Math.min(1, toNumber(schema['maximum'], 1)))
    case 'boolean':
      return true
    case 'null':
      return null
    default:
      return toText(schema, topic)
  }
}

/** Stops a schema that refers to itself. */
const maxDepth = 12

function toText(schema: Readonly<Record<string, unknown>>, topic: string): string {
  switch (schema['format']) {
    case 'date':
      return '2026-01-01'
    case 'date-time':
      return '2026-01-01T00:00:00Z'
    case 'email':
      return 'someone@example.com'
    case 'uri':
      return 'https://example.com/'
    case 'uuid':
      return '00000000-0000-4000-8000-000000000000'
    default:
      return topic.padEnd(Math.min(1_000, toNumber(schema['minLength'], 0)), '.').slice(0, toNumber(schema['maxLength'], 200))
  }
}

function resolveRef(root: unknown, ref: string): unknown {
  let at = root
  for (const step of ref.replace(/^#\/?/, '').split('/').filter(Boolean))
    at = isRecord(at) && Object.hasOwn(at, step) ? at[step] : undefined
  return at
}

function toNumber(value: unknown, fallback: number): number {
  return typeof value === 'number' && Number.isFinite(value) ? value : fallback
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
