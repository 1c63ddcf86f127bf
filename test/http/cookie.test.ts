/** The session cookie is read with suspicion. */
import t from 'tap'
import { readCookie, sessionCookie } from '../../src/http/cookie.ts'

const name = 'svc_membership_session'

t.test('one value, or none', async (t) => {
  t.equal(readCookie(undefined, name), null)
  t.equal(readCookie('a=b; c=d', name), null)
  t.equal(readCookie(`${name}=abc`, name), 'abc')
  t.equal(readCookie(`a=b;${name}=abc ; c=d`, name), 'abc')
  t.equal(readCookie(`x${name}=abc`, name), null, 'a longer name is another cookie')
  t.equal(readCookie(`a=${name}=abc`, name), null)
})

t.test('two of the same name are refused: one was set by somebody else', async (t) => {
  t.throws(() => readCookie(`${name}=a; ${name}=b`, name), { code: 'invalid_request' })
  t.throws(() => readCookie(`${name}=a; ${name}=a`, name), { code: 'invalid_request' })
})

t.test('what we set is HttpOnly, Lax, of this host alone, and Secure but on loopback', async (t) => {
  t.equal(sessionCookie(name, 'v', 60, true), `${name}=v; Max-Age=60; Path=/; HttpOnly; SameSite=Lax; Secure`)
  t.notMatch(sessionCookie(name, 'v', 60, false), /Secure|Domain/)
})
