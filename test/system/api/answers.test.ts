/** The response validation that every test's gateway uses can fail. */
import t from 'tap'
import { endpointsByArea } from '../../../src/api/endpoints.ts'
import { getPaths } from '../../../src/api/endpoint.ts'
import { findViolation } from '../../support/gateway/response-validator.ts'
import { startGateway } from '../../support/gateway/test-gateway.ts'

const ended = { ok: true, id: 'ses_1', ended: true }
const of = (body: unknown, more = {}) => ({
  method: 'DELETE',
  path: '/api/membership/auth/sessions/ses_1',
  status: 200,
  type: 'application/json',
  body: JSON.stringify(body),
  ...more,
})

t.test('detects a response that does not match its endpoint', async (t) => {
  t.equal(findViolation(of(ended)), null)
  t.match(findViolation(of({ ...ended, ended: 1 })), /^ended: /)
  t.match(findViolation(of({ ...ended, more: 1 })), /more/)
  t.match(findViolation(of(ended, { status: 201 })), 'another status')
  t.match(findViolation(of(ended, { path: '/v1/unheard-of' })), 'no endpoint')
  t.match(findViolation(of({ ok: false }, { status: 404 })), /requestId/)
})

t.test('validates the responses of a test gateway', async (t) => {
  const gateway = await startGateway(t)
  const response = await fetch(`${gateway.url}/healthz`)
  t.same(await response.json(), { ok: true })
})

t.test('describes no two endpoints at one address', async (t) => {
  const addresses = Object.values(endpointsByArea)
    .flat()
    .flatMap(({ endpoint }) => getPaths(endpoint).map((address) => `${endpoint.method} ${address.replaceAll(/\{\w+\}/g, '*')}`))
  t.ok(addresses.length > 60)
  t.same(addresses.length, new Set(addresses).size)
})
