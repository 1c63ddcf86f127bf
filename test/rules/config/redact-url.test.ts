/** URLs are printed without credentials. */
import t from 'tap'
import base from '../../../gateway.config.ts'
import { checkConfig, ConfigError } from '../../../src/config/config.ts'
import { Upstreams } from '../../../src/upstream/target/upstreams.ts'
import { toBasicAuthorization, redactUrl } from '../../../src/config/redact-url.ts'

t.test('prints a URL without user, password and query', async (t) => {
  for (const [text, shown] of [
    ['https://ada:s3cret@api.example.com/v1', 'https://api.example.com/v1'],
    ['https://api.example.com:8443/', 'https://api.example.com:8443'],
    ['https://s3cret@api.example.com/v1?key=s3cret#s3cret', 'https://api.example.com/v1'],
    ['smtp://ada:s3cret@mail.example.com:587', 'smtp://mail.example.com:587'],
    ['postgres://ada:s3cret@db1:5432,db2:5433/svc?sslmode=verify-full', 'postgres://db1:5432,db2:5433/svc'],
    ['postgresql://ada:s3cret@10.0.0.1:5432,[::1]:5432/svc', 'postgresql://10.0.0.1:5432,[::1]:5432/svc'],
    ['postgres://db1,db2/svc', 'postgres://db1,db2/svc'],
    ['postgres://ada:s3cret@db1:x,db2:5433/svc', '(no address)'],
    ['postgres://ada:s3c/ret@db1:5432,db2:5433/svc', '(no address)'],
    ['https://ada:s3cret@db1:5432,db2:5433/svc', '(no address)'],
    ['s3cret', '(no address)'],
    ['ada:s3cret', '(no address)'],
  ] as const)
    t.equal(redactUrl(text), shown, text)
})

t.test('sends an upstream’s user and password as Basic, and prints them nowhere', async (t) => {
  t.equal(toBasicAuthorization(new URL('https://ada:p%40ss@h/v1')), `Basic ${Buffer.from('ada:p@ss').toString('base64')}`)
  t.equal(toBasicAuthorization(new URL('https://h/v1')), null)
  const config = checkConfig({ ...base, upstreams: { main: { baseUrl: 'https://ada:s3cret@api.example.com/v1' } } })
  const upstreams = new Upstreams(config, null, () => 0)
  t.teardown(() => upstreams.close())
  const main = upstreams.get('main')
  t.equal(main?.headers['authorization'], `Basic ${Buffer.from('ada:s3cret').toString('base64')}`)
  t.notMatch(JSON.stringify([main?.name, main?.host, main?.origin, main?.basePath]), /s3cret|ada/)
})

t.test('the messages of configuration errors never quote them', async (t) => {
  const faulty: readonly [Record<string, unknown>, RegExp][] = [
    [{ upstreams: { main: { baseUrl: 'https://ada:s3cret@api.example.com/v1', apiKey: 'k' } } }, /both a key and credentials/],
    [{ upstreams: { main: { baseUrl: 'http://ada:s3cret@api.example.com/v1' } } }, /plain http to api\.example\.com/],
    [{ upstreams: { main: { baseUrl: 'https://ada:s3cret@api.example.com/v1?x=s3cret' } } }, /must not have a query/],
    [{ listen: { ...base.listen, siteUrl: 'https://ada:s3cret@example.com' } }, /listen\.siteUrl must be an origin alone/],
    [{ listen: { ...base.listen, baseUrl: 'https://ada:s3cret@example.com' } }, /listen\.baseUrl must be an origin alone/],
    [
      {
        signIn: {
          jwtIssuers: [{ issuer: 'https://ada:s3cret@id.example', audience: 'a', jwksUrl: 'https://id.example', plan: 'gold' }],
        },
      },
      /there is no plan 'gold'/,
    ],
  ]
  for (const [part, sentence] of faulty) {
    try {
      checkConfig({ ...base, ...part })
      t.fail(`${String(sentence)} was taken`)
    } catch (error) {
      t.ok(error instanceof ConfigError)
      t.match((error as Error).message, sentence)
      t.notMatch((error as Error).message, /s3cret/, String(sentence))
    }
  }
})
