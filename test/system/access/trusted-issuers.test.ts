/** JWTs of an operator's own issuer: which accounts they open, and that the operator's changes apply at once. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import t from 'tap'
import type { Test } from 'tap'
import { startGateway } from '../../support/gateway/test-gateway.ts'
import { SimulatedClock } from '../../support/simulated-clock.ts'

/** An issuer that serves one key at the path, and its tokens. */
async function issuing(t: Test, path: string) {
  const { privateKey, publicKey } = await generateKeyPair('ES256')
  const keys = JSON.stringify({ keys: [{ ...(await exportJWK(publicKey)), kid: 'one', alg: 'ES256' }] })
  const server = createServer(({ url }, response) => {
    response.statusCode = url === path ? 200 : 404
    response.setHeader('content-type', 'application/json').end(keys)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const tokenOf = (issuer: string): Promise<string> =>
    new SignJWT()
      .setProtectedHeader({ alg: 'ES256', kid: 'one' })
      .setIssuer(issuer)
      .setAudience('gateway')
      .setSubject('mei')
      .setExpirationTime('5m')
      .sign(privateKey)
  return { origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, tokenOf }
}

t.test("accepts a trusted issuer's token only while its account is active", async (t) => {
  const { origin: issuer, tokenOf } = await issuing(t, '/keys')
  const gateway = await startGateway(t, {
    signIn: { jwtIssuers: [{ issuer, audience: 'gateway', jwksUrl: `${issuer}/keys`, plan: 'pro' }] },
  })
  const { store, credentials } = gateway.services
  const token = await tokenOf(issuer)
  t.equal((await gateway.chat(token)).status, 200)
  const [account] = await store.accounts.list({ limit: 1 })
  t.match(account, { plan: 'pro', status: 'active' })
  // The first poll only reads the change log's last sequence number.
  await credentials.pollChanges()
  t.equal((await gateway.chat(token)).status, 200)

  await store.accounts.setStatus(account?.id ?? '', 'disabled')
  await credentials.pollChanges()
  t.equal((await gateway.chat(token)).status, 401, 'disabled by a command in another process')
  await store.accounts.setStatus(account?.id ?? '', 'active')
  await credentials.pollChanges()
  t.equal((await gateway.chat(token)).status, 200, 'enabled again')
})

t.test('accepts an issuer or a key set address that ends with a slash', async (t) => {
  const { origin, tokenOf } = await issuing(t, '/jwks/')
  const gateway = await startGateway(t, {
    signIn: { jwtIssuers: [{ issuer: `${origin}/`, audience: 'gateway', jwksUrl: `${origin}/jwks/`, plan: 'pro' }] },
  })
  for (const issuer of [`${origin}/`, origin]) t.equal((await gateway.chat(await tokenOf(issuer))).status, 200, issuer)
  t.equal((await gateway.services.store.accounts.list({ limit: 9 })).length, 1, 'both tokens belong to one account')
})

t.test('answers 503 while the keys of an issuer cannot be fetched, and logs it once', async (t) => {
  const { origin: issuer, tokenOf } = await issuing(t, '/elsewhere')
  const jwksUrl = `${issuer.replace('http://', 'http://user:secret-0123@')}/keys`
  const gateway = await startGateway(t, { signIn: { jwtIssuers: [{ issuer, audience: 'gateway', jwksUrl, plan: 'pro' }] } })
  const token = await tokenOf(issuer)
  for (let times = 0; times < 3; times++) {
    const answer = await gateway.chat(token)
    t.equal(answer.status, 503)
    t.match(answer.headers.get('retry-after'), /^[1-5]$/)
    t.match(await answer.json(), { code: 'temporarily_unavailable', message: /keys of its issuer cannot be fetched/ })
  }
  const lines = gateway.log.filter((line) => line.includes('trusted issuer'))
  t.equal(lines.length, 1)
  t.match(lines[0], `${issuer}/keys`)
  t.notMatch(gateway.log.join(''), /secret-0123/)
})

t.test('distinguishes keys that cannot be fetched from tokens that are not good', async (t) => {
  const { privateKey, publicKey } = await generateKeyPair('ES256')
  const keys = JSON.stringify({ keys: [{ ...(await exportJWK(publicKey)), kid: 'one', alg: 'ES256' }] })
  const answers: Readonly<Record<string, (response: ServerResponse) => void>> = {
    html: (response) => void response.setHeader('content-type', 'text/html').end('<h1>Welcome</h1>'),
    empty: (response) => void response.end(),
    rubbish: (response) => void response.end('{"keys":7}'),
    error: (response) => void response.writeHead(500).end(),
    broken: (response) => void response.destroy(),
  }
  let answer = 'html'
  let requests = 0
  const server = createServer((_, response) => {
    requests++
    const fail = answers[answer]
    if (fail === undefined) response.end(keys)
    else fail(response)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const good = await issuing(t, '/keys')
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const clock = new SimulatedClock({ isLive: true })
  const shared = { audience: 'gateway', plan: 'pro' }
  const gateway = await startGateway(
    t,
    {
      signIn: {
        jwtIssuers: [
          { ...shared, issuer, jwksUrl: `${issuer}/keys` },
          { ...shared, issuer: good.origin, jwksUrl: `${good.origin}/keys` },
        ],
      },
    },
    { clock },
  )
  const sign = (key: Parameters<SignJWT['sign']>[0], kid = 'one'): Promise<string> =>
    new SignJWT()
      .setProtectedHeader({ alg: 'ES256', kid })
      .setIssuer(issuer)
      .setAudience('gateway')
      .setSubject('mei')
      .setExpirationTime('5m')
      .sign(key)
  const token = await sign(privateKey)
  for (const name of Object.keys(answers)) {
    answer = name
    clock.skip(10_000)
    const before = requests
    for (let times = 0; times < 3; times++) t.equal((await gateway.chat(token)).status, 503, name)
    t.equal(requests, before + 1, 'the keys are fetched once in five seconds')
    t.equal((await gateway.chat(await good.tokenOf(good.origin))).status, 200, 'another issuer is not concerned')
    t.equal((await gateway.chat(`${token.split('.')[0]}.bm8.x`)).status, 401, 'no issuer is named')
  }
  answer = 'good'
  clock.skip(10_000)
  t.equal((await gateway.chat(token)).status, 200, 'good keys are used at once')
  const stranger = await generateKeyPair('ES256')
  t.equal((await gateway.chat(await sign(stranger.privateKey))).status, 401, 'a bad signature')
  answer = 'error'
  await gateway.chat(await sign(stranger.privateKey, 'other'))
  t.equal((await gateway.chat(await sign(privateKey))).status, 200, 'keys that were fetched still count')
})
