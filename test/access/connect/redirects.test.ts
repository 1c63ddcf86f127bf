import t from 'tap'
import { isSameRedirect, placeOf } from '../../../src/access/connect/redirects.ts'

t.test('an address is the registered one, letter by letter, but for the port on this machine', async (t) => {
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

t.test('a place is what a person can make out of an address', async (t) => {
  t.equal(placeOf('https://claude.ai/api/callback?x=y'), 'claude.ai')
  t.equal(placeOf('http://127.0.0.1:3334/callback'), '127.0.0.1:3334')
  t.equal(placeOf('cursor://anysphere.cursor-mcp/oauth/callback'), 'cursor://anysphere.cursor-mcp')
  t.equal(placeOf('com.example.app:/callback'), 'com.example.app:')
})
