/** Requests of membership and OAuth endpoints have a counter, and their failures a log line. */
import t from 'tap'
import { startGateway } from '../../support/gateway/test-gateway.ts'

t.test('counts membership and OAuth requests by endpoint and status, and logs failures', async (t) => {
  const g = await startGateway(t)
  const post = (path: string, body: string, type = 'application/json'): Promise<Response> =>
    fetch(g.url + path, { method: 'POST', headers: { 'content-type': type }, body })
  const password = JSON.stringify({ email: 'someone@example.com', password: 'violet teapot orbit' })
  t.equal((await post('/api/membership/auth/sign-in', password)).status, 401)
  t.equal((await post('/api/membership/v1/auth/sign-in', password)).status, 401)
  t.equal((await fetch(`${g.url}/api/membership/plans`)).status, 200)
  const form = 'grant_type=authorization_code&code=secret-code&client_id=unknown'
  t.equal((await post('/oauth/token', form, 'application/x-www-form-urlencoded')).status, 401)
  t.equal((await fetch(`${g.url}/connect/secret-uid/request`)).status, 401)
  t.equal((await fetch(`${g.url}/oauth/secret-path`)).status, 404)

  const metrics = await g.scrapeMetrics()
  for (const sample of [
    '{endpoint="/api/membership/auth/sign-in",status="401"} 2',
    '{endpoint="/api/membership/plans",status="200"} 1',
    '{endpoint="/oauth/token",status="401"} 1',
    '{endpoint="/connect/{uid}/request",status="401"} 1',
    '{endpoint="none",status="404"} 1',
  ])
    t.match(metrics, `svc_requests_total${sample}`)
  const lines = g.log.map((line) => JSON.parse(line)).filter(({ msg }) => msg === 'request failed')
  t.match(lines, [
    { requestId: /^mbr_/, endpoint: '/api/membership/auth/sign-in', status: 401, errorCode: 'invalid_credentials' },
    { endpoint: '/api/membership/auth/sign-in' },
    { endpoint: '/oauth/token', status: 401, errorCode: 'invalid_client', address: '127.0.0.1' },
    { endpoint: '/connect/{uid}/request', status: 401, errorCode: 'sign_in_required' },
    { endpoint: 'none', status: 404, errorCode: 'not_found' },
  ])
  t.equal(lines.length, 5)
  t.notMatch(g.log.join(''), /secret-|violet|someone@/)
})

t.test('counts a request that an attempt limit refuses', async (t) => {
  const g = await startGateway(t, { limits: { attempts: { 'app-token': { times: 1, withinMs: 3_600_000 } } } })
  const ask = async (): Promise<number> => {
    const headers = { 'content-type': 'application/x-www-form-urlencoded' }
    return (await fetch(`${g.url}/oauth/token`, { method: 'POST', headers, body: 'grant_type=refresh_token' })).status
  }
  t.not(await ask(), 429)
  t.equal(await ask(), 429)
  t.match(await g.scrapeMetrics(), 'svc_requests_total{endpoint="/oauth/token",status="429"} 1')
})
