/** JSON that libraries fetch and decode: what is refused before it reaches them. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import { checkToken, createCheckedFetch } from '../../../src/access/checked-fetch.ts'

const deep = `${'[1,'.repeat(20_000)}"`
const encode = (text: string): string => Buffer.from(text).toString('base64url')
const token = (header: string, claims: string): string => `${encode(header)}.${encode(claims)}.${encode('signature')}`

t.test('passes ordinary answers on, and refuses deep, large and hidden ones', async (t) => {
  const bodies: Record<string, { readonly status?: number; readonly body: string }> = {
    '/keys': { body: '{"keys":[]}' },
    '/html': { status: 502, body: '<html>it’s {{{{ broken</html>' },
    '/tokens': { body: JSON.stringify({ id_token: token('{"alg":"ES256"}', '{"sub":"mei"}') }) },
    '/nothing': { status: 204, body: '' },
    '/deep': { body: deep },
    '/deep-error': { status: 400, body: `{"error":${deep}` },
    '/deep-claims': { body: JSON.stringify({ id_token: token('{}', deep) }) },
    '/deep-header': { body: JSON.stringify({ id_token: token(deep, '{}') }) },
    '/deep-userinfo': { body: token('{}', deep) },
    '/large': { body: `"${'a'.repeat(2 * 1024 * 1024)}"` },
  }
  const server = createServer(({ url }, response) => {
    const { status = 200, body = '' } = bodies[url ?? ''] ?? {}
    response.writeHead(status, { 'content-type': 'application/json' }).end(body)
  }).listen(0, '127.0.0.1')
  t.teardown(() => server.close())
  await once(server, 'listening')
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const checked = createCheckedFetch(fetch)
  for (const [path, { status = 200, body }] of Object.entries(bodies)) {
    if (/deep|large/.test(path)) {
      await t.rejects(checked(origin + path), path)
      continue
    }
    const response = await checked(origin + path)
    t.equal(response.status, status)
    t.equal(await response.text(), body)
  }
})

t.test('refuses a token whose header or claims are nested deeply', async (t) => {
  t.doesNotThrow(() => checkToken(token('{"alg":"ES256"}', '{"sub":"mei"}')))
  t.doesNotThrow(() => checkToken('no.token.'))
  t.throws(() => checkToken(token(deep, '{}')))
  t.throws(() => checkToken(token('{}', deep)))
})
