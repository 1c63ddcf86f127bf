import t from 'tap'
import { parseClientName } from '../../../../src/http/request/client-name.ts'

t.test('names browsers and programs as a person knows them, never by their whole user agent', async (t) => {
  for (const [userAgent, name] of [
    ['', null],
    ['Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0', 'Firefox on Linux'],
    ['Mozilla/5.0 (iPhone; CPU iPhone OS 19_0 like Mac OS X) AppleWebKit/605.1.15 Unheard/3', 'Other browser on iOS'],
    ['Mozilla/5.0 (compatible; Unheard/1.0; +https://example.com/a/long/address/of/a/page)', 'Other browser'],
    ['curl/8.5.0', 'curl 8.5.0'],
    ['svc-cli/0.2.0', 'svc-cli 0.2.0'],
    ['python-requests/2.32.3 CPython/3.12 Windows/11', 'python-requests 2.32.3 on Windows'],
    ['W'.repeat(500), 'W'.repeat(32)],
    ['5/5', null],
    ['æµ\u008f', null],
  ] as const)
    t.equal(parseClientName(userAgent), name, userAgent.slice(0, 60))
})
