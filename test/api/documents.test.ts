/** What is made from the source is as it would be made now, and fits its own rules. */
import { Validator } from '@seriousme/openapi-schema-validator'
import t from 'tap'
import { documents } from '../../docs/documents.ts'
import { openapi } from '../../docs/openapi.ts'
import { catalogue } from '../../src/errors.ts'

t.test('committed documents are as they would be made now', async (t) => {
  for (const { path, now, committed } of documents()) t.ok(now === committed, `${path} is as it is made; else: npm run docs`)
})

t.test('openapi.json is valid OpenAPI 3.1, by somebody else’s judgement', async (t) => {
  const { valid, errors } = await new Validator().validate(structuredClone(openapi()))
  t.ok(valid, JSON.stringify(errors))
  // Seen to fail: a document that lacks what it must have.
  const { info: _, ...lame } = openapi()
  t.notOk((await new Validator().validate(structuredClone(lame))).valid)
})

t.test('every reference leads somewhere, and every name is used once', async (t) => {
  const document = openapi()
  const text = JSON.stringify(document)
  const { schemas } = document['components'] as { readonly schemas: Readonly<Record<string, unknown>> }
  const named = new Set([...text.matchAll(/"\$ref":"#\/components\/schemas\/(\w+)"/g)].map(([, name]) => name))
  t.same(
    [...named].filter((name) => name === undefined || !(name in schemas)),
    [],
  )
  t.same(
    Object.keys(schemas).filter((name) => !named.has(name)),
    [],
  )
  const operations = [...text.matchAll(/"operationId":"(\w+)"/g)].map(([, name]) => name)
  t.equal(operations.length, new Set(operations).size)
  t.same(document['x-failures'], catalogue)
})
