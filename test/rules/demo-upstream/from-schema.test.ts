/** Values generated for a JSON Schema. */
import t from 'tap'
import { generateFromSchema } from '../../../src/demo-upstream/from-schema.ts'

t.test('generates a value that fits its schema', (t) => {
  const schema = {
    type: 'object',
    required: ['city'],
    $defs: { day: { type: 'string', format: 'date' } },
    properties: {
      city: { type: 'string' },
      unit: { enum: ['c', 'f'] },
      days: { type: 'array', items: { $ref: '#/$defs/day' }, minItems: 2 },
      count: { type: 'integer', minimum: 3 },
      few: { type: 'number', maximum: 0 },
      exact: { type: 'boolean' },
      fixed: { const: 7 },
      usual: { default: 'x' },
      either: { anyOf: [{ type: 'null' }, { type: 'string' }] },
      many: { type: ['string', 'null'], maxLength: 3 },
      nested: { properties: { a: { type: 'string', format: 'email' } } },
    },
  }
  t.same(generateFromSchema(schema, 'Berlin'), {
    city: 'Berlin',
    unit: 'c',
    days: ['2026-01-01', '2026-01-01'],
    count: 3,
    few: 0,
    exact: true,
    fixed: 7,
    usual: 'x',
    either: null,
    many: 'Ber',
    nested: { a: 'someone@example.com' },
  })
  t.end()
})

t.test('generates a value for an invalid or endless schema', (t) => {
  t.equal(generateFromSchema(undefined, 'x'), 'x')
  t.equal(generateFromSchema({ $ref: '#/nowhere' }, 'x'), 'x')
  const endless = { type: 'object', properties: { self: { $ref: '#' } } }
  t.type(generateFromSchema(endless, 'x'), 'object')
  t.same(generateFromSchema({ type: 'object' }, 'x'), {})
  t.end()
})
