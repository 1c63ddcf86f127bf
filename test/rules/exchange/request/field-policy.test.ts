/** Fields that choose or buy are rejected; empty values that request nothing are not. */
import t from 'tap'
import { findForbiddenField } from '../../../../src/exchange/request/field-policy.ts'

const forbidden = (fields: object) =>
  findForbiddenField({ body: { model: 'svc-2.1', ...fields } }, () => new Set())?.details.param ?? null

t.test('drops empty values that request nothing', async (t) => {
  for (const fields of [
    { provider: {} },
    { extra_body: {} },
    { extra_headers: {} },
    { organization: '' },
    { models: [] },
    { models: ['svc-2.1'] },
    { provider: null },
  ])
    t.equal(forbidden(fields), null, JSON.stringify(fields))
})

t.test('rejects what chooses or buys', async (t) => {
  for (const fields of [
    { provider: { order: ['x'] } },
    { extra_body: { a: 1 } },
    { organization: 'org' },
    { models: ['svc-2.1', 'other'] },
    { models: 'svc-2.1' },
    { web_search_options: {} },
  ])
    t.equal(forbidden(fields), Object.keys(fields)[0] ?? '', JSON.stringify(fields))
})

const schemas = (schema: unknown): readonly (readonly [field: string, value: unknown])[] => [
  ['tools', [{ type: 'function', function: { name: 'f', parameters: schema } }]],
  ['functions', [{ name: 'f', parameters: schema }]],
  ['response_format', { type: 'json_schema', json_schema: { name: 'a', schema } }],
  ['response_format', { type: 'json_object', schema }],
  ['guided_json', schema],
  ['guided_json', JSON.stringify(schema)],
  ['structured_outputs', { structural_tag: JSON.stringify({ structures: [{ begin: 'a', schema, end: 'b' }] }) }],
  ['tools', [{ type: 'function', function: { name: 'f', parameters: JSON.stringify(schema) } }]],
  ['json_schema', schema],
  ['structured_outputs', { json: schema }],
  ['structured_outputs', { json: JSON.stringify(schema) }],
]

t.test('rejects a reference to a schema outside of the request', async (t) => {
  for (const reference of [
    'http://127.0.0.1:9/a.json',
    'https://example.com/a.json#/$defs/a',
    'file:///etc/passwd',
    '//10.0.0.1/a',
    'a.json',
    ' #/$defs/a',
    '',
  ])
    for (const name of ['$ref', '$dynamicRef', '$recursiveRef'])
      for (const [field, value] of schemas({ type: 'object', properties: { a: { items: [{ [name]: reference }] } } }))
        t.equal(forbidden({ [field]: value }), field, JSON.stringify(value))
  for (const base of ['http://127.0.0.1:9/', '//10.0.0.1/', 'file:///etc/'])
    for (const name of ['$id', 'id'])
      for (const [field, value] of schemas({ properties: { a: { $ref: 'passwd' } }, $defs: { b: { [name]: base } } }))
        t.equal(forbidden({ [field]: value }), field, JSON.stringify(value))
})

t.test('accepts references within a schema, and properties that are called like one', async (t) => {
  for (const schema of [
    { $schema: 'http://json-schema.org/draft-07/schema#', $id: 'https://example.com/a', $defs: { a: {} }, $ref: '#/$defs/a' },
    { type: 'object', properties: { $ref: { type: 'string', default: 'http://127.0.0.1/' } } },
    { type: 'object', properties: { json: { const: 'http://127.0.0.1/' } } },
    { description: '{"$ref":"http://127.0.0.1/"}' },
    { type: 'object', properties: { a: { $ref: 'User' }, b: { $ref: 'User#/properties/a' } }, $defs: { a: { $id: 'User' } } },
  ])
    for (const [field, value] of schemas(schema)) t.equal(forbidden({ [field]: value }), null, JSON.stringify(value))
})

t.test('rejects templates, addresses and settings of the engine in the arguments of a chat template', async (t) => {
  for (const value of [
    { chat_template: '{{ messages }}' },
    { chat_template: null },
    { enable_thinking: true, tokenize: false },
    { padding: 'max_length', max_length: 1e9 },
    { model_identity: 'You are {% for i in range(10**9) %}{% endfor %}' },
    { documents: [{ title: 'a', text: '{{ 7 * 7 }}' }] },
    { documents: ['http://169.254.169.254/'] },
    { template_file: 'file:/etc/passwd' },
    '{"chat_template": "x"}',
    [],
  ])
    t.equal(forbidden({ chat_template_kwargs: value }), 'chat_template_kwargs', JSON.stringify(value))
  for (const value of [
    null,
    {},
    { enable_thinking: false, thinking: true, thinking_budget: 1_000, reasoning_effort: 'high' },
    { model_identity: 'You are a helper. See https://example.com for {more}.' },
    { documents: [{ title: 'a', text: 'b' }], builtin_tools: ['python'] },
  ])
    t.equal(forbidden({ chat_template_kwargs: value }), null, JSON.stringify(value))
})

t.test('passes what the operator allows', async (t) => {
  const body = { model: 'svc-2.1', chat_template_kwargs: { chat_template: 'x' }, guided_json: { $ref: 'http://127.0.0.1/' } }
  const find = (...fields: readonly string[]) => findForbiddenField({ body }, () => new Set(fields))?.details.param ?? null
  t.equal(find(), 'guided_json')
  t.equal(find('guided_json'), 'chat_template_kwargs')
  t.equal(find('guided_json', 'chat_template_kwargs'), null)
})
