import t from 'tap'
import { isSameRedirect, getRedirectHost } from '../../../../src/access/oauth/redirects.ts'

t.test('compares redirect addresses exactly, except for the port on loopback', async (t) => {
  for (const [address, registered, same] of [
    ['http://127.0.0.1:5000/callback', 'http://127.0.0.1/callback', true],
    ['http://127.0.0.1/callback', 'http://127.0.0.1:5000/callback', true],
    ['http://[::1]:5000/callback', 'http://[::1]:6000/callback', true],
    ['http://localhost:5000/callback', 'http://127.0.0.1:5000/callback', false],
    ['http://127.0.0.1:5000/callback/', 'http://127.0.0.1:5000/callback', false],
    ['http://127.0.0.1:5000/callback?x=1', 'http://127.0.0.1:5000/callback', false],
    ['http://127.0.0.1:80@evil.example/callback', 'http://127.0.0.1/callback', false],
    ['https://app.example:444/callback', 'https://app.example/callback', false],
    ['https://app.example/callback', 'https://app.example/callback', true],
    ['cursor://a/callback', 'cursor://b/callback', false],
  ] as const)
    t.equal(isSameRedirect(address, registered), same, `${address} for ${registered}`)
})

t.test('shows the host or the scheme of a redirect address', async (t) => {
  t.equal(getRedirectHost('https://claude.ai/api/callback?x=y'), 'claude.ai')
  t.equal(getRedirectHost('http://127.0.0.1:3334/callback'), '127.0.0.1:3334')
  t.equal(getRedirectHost('cursor://anysphere.cursor-mcp/oauth/callback'), 'cursor://anysphere.cursor-mcp')
  t.equal(getRedirectHost('com.example.app:/callback'), 'com.example.app:')
})
