/** JWTs of an operator's own issuer: whom they let in, and that an operator's word on the account counts at once. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import t from 'tap'
import type { Test } from 'tap'
import { startGateway } from '../support/gateway.ts'

/** A site that answers with one key at the path, and its tokens. */
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

t.test('a token of a trusted issuer is good only as long as its account is', async (t) => {
  const { origin: issuer, tokenOf } = await issuing(t, '/keys')
  const gateway = await startGateway(t, {
    signIn: { jwtIssuers: [{ issuer, audience: 'gateway', jwksUrl: `${issuer}/keys`, plan: 'pro' }] },
  })
  const { store, credentials } = gateway.services
  const token = await tokenOf(issuer)
  t.equal((await gateway.chat(token)).status, 200)
  const [account] = await store.accounts.list({ limit: 1 })
  t.match(account, { plan: 'pro', status: 'active' })
  // The first look only finds out how far the book of changes goes.
  await credentials.followChanges()
  t.equal((await gateway.chat(token)).status, 200)

  await store.accounts.setStatus(account?.id ?? '', 'disabled')
  await credentials.followChanges()
  t.equal((await gateway.chat(token)).status, 401, 'disabled by a command beside the server')
  await store.accounts.setStatus(account?.id ?? '', 'active')
  await credentials.followChanges()
  t.equal((await gateway.chat(token)).status, 200, 'and enabled again')
})

t.test('an issuer whose name ends with a slash, and keys whose address does, are known by them', async (t) => {
  const { origin, tokenOf } = await issuing(t, '/jwks/')
  const gateway = await startGateway(t, {
    signIn: { jwtIssuers: [{ issuer: `${origin}/`, audience: 'gateway', jwksUrl: `${origin}/jwks/`, plan: 'pro' }] },
  })
  for (const issuer of [`${origin}/`, origin]) t.equal((await gateway.chat(await tokenOf(issuer))).status, 200, issuer)
  t.equal((await gateway.services.store.accounts.list({ limit: 9 })).length, 1, 'both are one person')
})

t.test('keys that cannot be had are said to the operator, once', async (t) => {
  const { origin: issuer, tokenOf } = await issuing(t, '/elsewhere')
  const jwksUrl = `${issuer.replace('http://', 'http://user:secret-0123@')}/keys`
  const gateway = await startGateway(t, { signIn: { jwtIssuers: [{ issuer, audience: 'gateway', jwksUrl, plan: 'pro' }] } })
  const token = await tokenOf(issuer)
  for (let times = 0; times < 3; times++) t.equal((await gateway.chat(token)).status, 401)
  const said = gateway.log.filter((line) => line.includes('trusted issuer'))
  t.equal(said.length, 1)
  t.match(said[0], `${issuer}/keys`)
  t.notMatch(gateway.log.join(''), /secret-0123/)
})
