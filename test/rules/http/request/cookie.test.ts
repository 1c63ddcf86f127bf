/** Reading, writing and deleting a cookie. */
import t from 'tap'
import { listDeletions, readCookie, serializeCookie } from '../../../../src/http/request/cookie.ts'

const name = 'svc_membership_session'

t.test('reads one value or none', async (t) => {
  t.equal(readCookie(undefined, name), null)
  t.equal(readCookie('a=b; c=d', name), null)
  t.equal(readCookie(`${name}=abc`, name), 'abc')
  t.equal(readCookie(`a=b;${name}=abc ; c=d`, name), 'abc')
  t.equal(readCookie(`x${name}=abc`, name), null, 'a longer name is another cookie')
  t.equal(readCookie(`a=${name}=abc`, name), null)
})

t.test('reads neither of two cookies of the same name, because another site set one of them', async (t) => {
  t.equal(readCookie(`${name}=a; ${name}=b`, name), null)
  t.equal(readCookie(`${name}=a; ${name}=a`, name), null)
})

t.test('deletes a cookie of the host and its parent domains at each path that leads to the page', async (t) => {
  t.same(listDeletions('c', 'models.example.com', '/account/'), [
    'c=; Max-Age=0; Path=/',
    'c=; Max-Age=0; Path=/account',
    'c=; Max-Age=0; Path=/account/',
    'c=; Max-Age=0; Path=/; Domain=models.example.com',
    'c=; Max-Age=0; Path=/account; Domain=models.example.com',
    'c=; Max-Age=0; Path=/account/; Domain=models.example.com',
    'c=; Max-Age=0; Path=/; Domain=example.com',
    'c=; Max-Age=0; Path=/account; Domain=example.com',
    'c=; Max-Age=0; Path=/account/; Domain=example.com',
  ])
  for (const hostname of ['127.0.0.1', '[::1]', 'localhost']) t.same(listDeletions('c', hostname, '/'), ['c=; Max-Age=0; Path=/'])
  t.same(listDeletions('c', 'localhost', '/a;Domain=evil/b\r\nx'), ['c=; Max-Age=0; Path=/'], 'a path adds no attribute')
  t.equal(listDeletions('c', 'a.b.c.d.example.com', '/a/b/c/d/e').length, 32, 'a bounded number')
})

t.test('sets cookies HttpOnly, Lax, host-only, and Secure except on loopback', async (t) => {
  t.equal(serializeCookie(name, 'v', 60, true), `${name}=v; Max-Age=60; Path=/; HttpOnly; SameSite=Lax; Secure`)
  t.notMatch(serializeCookie(name, 'v', 60, false), /Secure|Domain/)
})
