/** The session cookie: duplicates are refused. */
import t from 'tap'
import { readCookie, serializeCookie } from '../../../src/http/request/cookie.ts'

const name = 'svc_membership_session'

t.test('reads one value or none', async (t) => {
  t.equal(readCookie(undefined, name), null)
  t.equal(readCookie('a=b; c=d', name), null)
  t.equal(readCookie(`${name}=abc`, name), 'abc')
  t.equal(readCookie(`a=b;${name}=abc ; c=d`, name), 'abc')
  t.equal(readCookie(`x${name}=abc`, name), null, 'a longer name is another cookie')
  t.equal(readCookie(`a=${name}=abc`, name), null)
})

t.test('refuses two cookies of the same name, because another site set one of them', async (t) => {
  t.throws(() => readCookie(`${name}=a; ${name}=b`, name), { code: 'invalid_request' })
  t.throws(() => readCookie(`${name}=a; ${name}=a`, name), { code: 'invalid_request' })
})

t.test('sets cookies HttpOnly, Lax, host-only, and Secure except on loopback', async (t) => {
  t.equal(serializeCookie(name, 'v', 60, true), `${name}=v; Max-Age=60; Path=/; HttpOnly; SameSite=Lax; Secure`)
  t.notMatch(serializeCookie(name, 'v', 60, false), /Secure|Domain/)
})
