import t from 'tap'
import { toSafeReturnPath } from '../../../src/pages/return-path.ts'

const site = 'https://gateway.example'

/** Each of these has led some sign-in page somewhere else. */
const tricks: readonly unknown[] = [
  'https://evil.example',
  'http://evil.example/account',
  '//evil.example',
  '///evil.example',
  '////evil.example/%2e%2e',
  '/\\evil.example',
  '\\/evil.example',
  '\\\\evil.example',
  '/\t/evil.example',
  '/\n/evil.example',
  '/\r\n/evil.example',
  '\t//evil.example',
  ' //evil.example',
  ' https://evil.example',
  '/.//evil.example',
  '/..//evil.example',
  '/account/..//evil.example',
  '/./..//evil.example',
  '/%2e//evil.example',
  '/%2E%2E//evil.example',
  'javascript:alert(1)',
  'JaVaScRiPt:alert(1)',
  'java\nscript:alert(1)',
  'data:text/html,<script>alert(1)</script>',
  'vbscript:msgbox(1)',
  'https:evil.example',
  'https:/evil.example',
  'evil.example',
  '@evil.example',
  '.evil.example',
  ':80//evil.example',
  '/account\r\nset-cookie: a=b',
  '/account\u0000',
  '/\u2028/evil.example',
  '/\u3002evil.example',
  '/\uff0fevil.example',
  '?next=//evil.example',
  '#//evil.example',
  '',
  null,
  undefined,
  ['/account', '//evil.example'],
  { toString: () => '//evil.example' },
  `/${'a'.repeat(5000)}`,
]

t.test('no trick leads off the site', async (t) => {
  t.ok(tricks.length >= 30)
  for (const trick of tricks) {
    const path = toSafeReturnPath(trick)
    const target = new URL(path, `${site}/sign-in`)
    t.equal(target.origin, site, `${encodeURI(String(trick)).slice(0, 60)} leads to ${path}`)
    t.match(path, /^\/[^/\\]/, 'a path of our own')
    t.notMatch(target.href, 'evil', 'and not one of the stranger’s choosing')
  }
})

t.test('keeps own paths, with query and fragment', async (t) => {
  for (const path of ['/', '/keys', '/device?user_code=ABCD-EFGH', '/docs#cursor', '/account?a=%2F%2Fhost&b=%0d']) {
    t.equal(toSafeReturnPath(path), path)
  }
})

t.test('signing in never leads back to signing in, nor to an endpoint', async (t) => {
  for (const path of ['/sign-in', '/sign-in?next=/keys', '/api/membership/auth/sign-out', '/v1/models', '/x/../sign-in'])
    t.equal(toSafeReturnPath(path), '/account')
})
