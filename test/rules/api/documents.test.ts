/** Generated documents are up to date and valid. */
import { Validator } from '@seriousme/openapi-schema-validator'
import t from 'tap'
import { renderDocuments } from '../../../docs/generate/documents.ts'
import { createOpenApiDocument } from '../../../docs/generate/openapi-document.ts'
import { passwordLengthBounds } from '../../../src/domain/identity/passwords/password.ts'
import { errorCatalog } from '../../../src/errors.ts'
import { deriveNames } from '../../../src/exchange/brand-names.ts'

t.test('has committed documents that equal the generated ones', async (t) => {
  for (const { path, content, committed } of renderDocuments())
    t.ok(content === committed, `${path} is up to date; otherwise run: npm run docs`)
})

t.test('generates valid OpenAPI 3.1, by an independent validator', async (t) => {
  const { valid, errors } = await new Validator().validate(structuredClone(createOpenApiDocument()))
  t.ok(valid, JSON.stringify(errors))
  // The validator refuses a document that lacks a required part.
  const { info: _, ...lame } = createOpenApiDocument()
  t.notOk((await new Validator().validate(structuredClone(lame))).valid)
})

t.test('resolves every reference and uses every name once', async (t) => {
  const document = createOpenApiDocument()
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
  t.same(document['x-failures'], errorCatalog)
})

t.test('documents the bounds that the server enforces elsewhere', async (t) => {
  const { paths } = createOpenApiDocument() as unknown as {
    readonly paths: Readonly<Record<string, { readonly post: { readonly requestBody: { readonly content: Content } } }>>
  }
  const getProperties = (path: string) => paths[path]?.post.requestBody.content['application/json']?.schema.properties
  for (const path of ['/api/membership/auth/sign-up', '/api/membership/auth/password'])
    t.match(getProperties(path)?.['password'], { minLength: passwordLengthBounds.min, maxLength: passwordLengthBounds.max }, path)
  t.match(getProperties('/api/membership/auth/sign-in')?.['password'], { minLength: 1 }, 'an old password may be shorter')
  t.same(getProperties('/api/membership/auth/device/start')?.['client']?.['enum'], [deriveNames('svc').cliClient])
})

type Content = Readonly<
  Record<string, { readonly schema: { readonly properties: Readonly<Record<string, Readonly<Record<string, unknown>>>> } }>
>
