/** An OpenID provider whose answers a test scripts, for what a real one does not send. Tests skip its pages and go on at the callback. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import type { JWTPayload } from 'jose'
import type { Test } from 'tap'

type Answer = (request: IncomingMessage, response: ServerResponse) => void

export interface ScriptedOpenIdProvider {
  readonly issuer: string
  /** Bodies and `Authorization` headers of the token requests so far. */
  readonly tokenRequests: { readonly body: string; readonly authorization: string | null }[]
  /** The claims of the next id token, over good ones; `undefined` removes a claim. */
  claims: Readonly<Record<string, unknown>>
  /** Answers instead of the endpoints, by path. */
  readonly answers: Map<string, Answer>
  /** More metadata. */
  metadata: Readonly<Record<string, unknown>>
}

export async function startScriptedOpenIdProvider(
  t: Test,
  clientId: string,
): Promise<ScriptedOpenIdProvider & { nonce: string }> {
  const { privateKey, publicKey } = await generateKeyPair('RS256')
  const keys = { keys: [{ ...(await exportJWK(publicKey)), kid: 'one', alg: 'RS256', use: 'sig' }] }
  const server = createServer((request, response) => void serve(request, response))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const self = {
    issuer,
    tokenRequests: [] as { body: string; authorization: string | null }[],
    claims: {} as Readonly<Record<string, unknown>>,
    answers: new Map<string, Answer>(),
    metadata: {} as Readonly<Record<string, unknown>>,
    nonce: '',
  }
  return self

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = request.url ?? ''
    const answer = self.answers.get(path)
    if (answer !== undefined) return answer(request, response)
    const send = (body: unknown): void => void response.setHeader('content-type', 'application/json').end(JSON.stringify(body))
    if (path === '/keys') return send(keys)
    if (path === '/token') {
      const { authorization = null } = request.headers
      self.tokenRequests.push({ body: await text(request), authorization })
      const now = Math.floor(Date.now() / 1000)
      const claims = { iss: issuer, aud: clientId, sub: 'mei', nonce: self.nonce, iat: now, exp: now + 300, ...self.claims }
      const idToken = await new SignJWT(claims as JWTPayload).setProtectedHeader({ alg: 'RS256', kid: 'one' }).sign(privateKey)
      return send({ access_token: 'a', token_type: 'Bearer', id_token: idToken })
    }
    send({
      issuer,
      authorization_endpoint: `${issuer}/authorize`,
      token_endpoint: `${issuer}/token`,
      jwks_uri: `${issuer}/keys`,
      response_types_supported: ['code'],
      ...self.metadata,
    })
  }
}
