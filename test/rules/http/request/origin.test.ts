/** Only a browser's headers prove that a request comes from our own page. */
import t from 'tap'
import { isSameOrigin } from '../../../../src/http/request/origin.ts'

t.test('uses fetch metadata, else Origin, else refuses', async (t) => {
  const site = 'https://example.com'
  for (const [headers, expected] of [
    [{ 'sec-fetch-site': 'same-origin' }, true],
    [{ 'sec-fetch-site': 'same-site' }, false],
    [{ 'sec-fetch-site': 'cross-site', origin: site }, false],
    [{ 'sec-fetch-site': 'none' }, false],
    [{ origin: site }, true],
    [{ origin: 'https://example.com.evil.test' }, false],
    [{ origin: 'http://example.com' }, false],
    [{ origin: 'null' }, false],
    [{}, false],
  ] as const) {
    t.equal(isSameOrigin(headers, site), expected, JSON.stringify(headers))
  }
})
