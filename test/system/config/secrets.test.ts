/** The secrets of a configuration, in every form in which another program may repeat them. */
import t from 'tap'
import { collectSecrets } from '../../../src/config/secrets.ts'
import { testConfig } from '../../support/gateway/test-gateway.ts'

t.test('lists every secret, and passwords of URLs as written, decoded and as Basic', async (t) => {
  const config = testConfig(t, {
    upstreams: {
      main: {
        baseUrl: 'https://api.example.com/v1',
        apiKey: 'key-of-main',
        headers: { 'X-Api-Key': 'second-key', 'http-referer': 'https://example.com' },
      },
      two: { baseUrl: 'https://ada:p%40ssword@api.example.org/v1', headers: { Authorization: 'Bearer third-key' } },
    },
    search: { backend: 'tavily', apiKey: 'key-of-tavily' },
    metrics: { token: 'token-of-metrics' },
    store: { url: 'postgres://svc:pg-pass%21word@one,two:5433/svc', secretKey: Buffer.alloc(32, 7).toString('base64') },
    limits: { url: 'rediss://limits:valkey-password@host:6379/0' },
    mail: { smtpUrl: 'smtp://svc:mail-password@host:587' },
    signIn: {
      providers: { idp: { name: 'IdP', issuer: 'https://id.example', clientId: 'client', clientSecret: 'oidc-secret' } },
    },
  })
  t.same(
    collectSecrets(config).toSorted(),
    [
      'Bearer third-key',
      Buffer.alloc(32, 7).toString('base64'),
      'key-of-main',
      'key-of-tavily',
      'mail-password',
      'oidc-secret',
      'p%40ssword',
      'p@ssword',
      'pg-pass!word',
      'pg-pass%21word',
      'second-key',
      'third-key',
      'token-of-metrics',
      'valkey-password',
      Buffer.from('ada:p@ssword').toString('base64'),
      Buffer.from('limits:valkey-password').toString('base64'),
      Buffer.from('svc:pg-pass!word').toString('base64'),
      Buffer.from('svc:mail-password').toString('base64'),
    ].toSorted(),
  )
})

t.test('lists the longest first, so that a part of a longer secret hides no more than that', async (t) => {
  const config = testConfig(t, {
    upstreams: {
      main: { baseUrl: 'https://one.example/v1', apiKey: 'abcdef' },
      two: { baseUrl: 'https://two.example/v1', apiKey: 'abcdef-ghi' },
    },
    metrics: { token: 'short' },
  })
  t.same(collectSecrets(config), ['abcdef-ghi', 'abcdef'])
})
