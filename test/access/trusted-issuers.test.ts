/** JWTs of an operator's own issuer: which accounts they open, and that the operator's changes apply at once. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import t from 'tap'
import type { Test } from 'tap'
import { startGateway } from '../support/gateway/test-gateway.ts'

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

t.test('logs once that a key set cannot be fetched', async (t) => {
  const { origin: issuer, tokenOf } = await issuing(t, '/elsewhere')
  const jwksUrl = `${issuer.replace('http://', 'http://user:secret-0123@')}/keys`
  const gateway = await startGateway(t, { signIn: { jwtIssuers: [{ issuer, audience: 'gateway', jwksUrl, plan: 'pro' }] } })
  const token = await tokenOf(issuer)
  for (let times = 0; times < 3; times++) t.equal((await gateway.chat(token)).status, 401)
  const lines = gateway.log.filter((line) => line.includes('trusted issuer'))
  t.equal(lines.length, 1)
  t.match(lines[0], `${issuer}/keys`)
  t.notMatch(gateway.log.join(''), /secret-0123/)
})
