/** The check that every test's answers pass through can fail. */
import t from 'tap'
import { areas } from '../../src/api/endpoints.ts'
import { addressesOf } from '../../src/api/endpoint.ts'
import { faultIn } from '../support/answers.ts'
import { startGateway } from '../support/gateway.ts'

const ended = { ok: true, id: 'ses_1', ended: true }
const of = (body: unknown, more = {}) => ({
  method: 'DELETE',
  path: '/api/membership/auth/sessions/ses_1',
  status: 200,
  type: 'application/json',
  body: JSON.stringify(body),
  ...more,
})

t.test('an answer that is not as its endpoint says is found', async (t) => {
  t.equal(faultIn(of(ended)), null)
  t.match(faultIn(of({ ...ended, ended: 1 })), /^ended: /)
  t.match(faultIn(of({ ...ended, more: 1 })), /more/)
  t.match(faultIn(of(ended, { status: 201 })), 'another status')
  t.match(faultIn(of(ended, { path: '/v1/unheard-of' })), 'no endpoint')
  t.match(faultIn(of({ ok: false }, { status: 404 })), /requestId/)
})

t.test('a gateway’s own answers are looked at', async (t) => {
  const gateway = await startGateway(t)
  const response = await fetch(`${gateway.url}/healthz`)
  t.same(await response.json(), { ok: true })
})

t.test('no two endpoints stand at one address', async (t) => {
  const addresses = Object.values(areas)
    .flat()
    .flatMap(({ endpoint }) =>
      addressesOf(endpoint).map((address) => `${endpoint.method} ${address.replaceAll(/\{\w+\}/g, '*')}`),
    )
  t.ok(addresses.length > 60)
  t.same(addresses.length, new Set(addresses).size)
})
