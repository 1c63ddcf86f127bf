/** Failures as a user sees them: the service's own, those of the way to it, and answers that are none. */
import t from 'tap'
import type { Code } from '../../../src/errors.ts'
import { catalogue } from '../../../src/errors.ts'
import { envelope, fail, json, startContractServer } from '../../support/contract-server.ts'
import { serviceFailure } from '../../../src/cli/service/service-failure.ts'
import { showFailure } from '../../../src/cli/show-failure.ts'
import { runProgram, svc } from '../../support/run-svc.ts'

const codes = Object.keys(catalogue) as Code[]

/** What the man page promises; codes that are not here end with 1. */
const exitOf: Partial<Record<Code, number>> = {
  sign_in_required: 4,
  proof_required: 4,
  temporarily_unavailable: 7,
  access_denied: 4,
  expired_token: 4,
  invalid_grant: 4,
  invalid_credentials: 4,
  not_found: 5,
  quota_exceeded: 6,
  rate_limited: 7,
  upstream_error: 7,
  upstream_rate_limited: 7,
  upstream_not_configured: 7,
  upstream_model_unavailable: 7,
  internal_error: 7,
}

const suggestsLogin: ReadonlySet<string> = new Set(['sign_in_required', 'access_denied', 'expired_token', 'invalid_grant'])

t.test('every failure of the catalogue is shown with its message, its Ref line last, and its exit code', async (t) => {
  for (const code of codes) {
    for (const up of [undefined, 401]) {
      const { status, stage } = catalogue[code]
      const body = envelope({ headers: { 'x-svc-request-id': 'mbr_1' } }, code, up)
      for (const language of ['en', 'zh'] as const) {
        let shown = ''
        const stderr = { styled: false, write: (text: string) => void (shown += text) }
        const failure = serviceFailure({ status, headers: new Headers(), body, requestId: 'mbr_1' })
        const exit = showFailure(failure, { stdout: stderr, stderr, json: false }, language)
        const lines = shown.trimEnd().split('\n')
        t.equal(lines.at(-1), `Ref: mbr_1 · ${code} · stage=${stage} · HTTP ${status}${up === undefined ? '' : ` · up=${up}`}`)
        t.equal(lines[0], language === 'en' ? `error: ${body['message']}` : `错误: ${body['messageZh']}`)
        t.equal(exit, exitOf[code] ?? 1, `${code}: exit code`)
        t.equal(/svc login/.test(shown), suggestsLogin.has(code), `${code}: suggests svc login only where that helps`)
      }
    }
  }
})

t.test('signing in is not suggested where a variable would still go before the session', async (t) => {
  const server = await startContractServer({
    'GET /v1/models': (received, response) => fail(response, received, 'sign_in_required'),
    'GET /api/membership/usage': (received, response) => fail(response, received, 'sign_in_required'),
  })
  t.teardown(() => server.close())
  const options = { home: t.testdir(), site: server.origin }
  t.match(
    (await svc(['models'], { ...options, env: { SVC_API_KEY: 'svc_live_x' } })).stderr,
    /the credential in SVC_API_KEY is not valid/,
  )
  t.match(
    (await svc(['usage'], { ...options, env: { SVC_TOKEN: 'svc_sess_x' } })).stderr,
    /the credential in SVC_TOKEN is not valid/,
  )
})

t.test('a credential that cannot be sent is never shown, and is not taken for a service that cannot be reached', async (t) => {
  const server = await startContractServer({ 'GET /v1/models': (_, response) => json(response, { object: 'list', data: [] }) })
  t.teardown(() => server.close())
  const options = { home: t.testdir(), site: server.origin }
  for (const [name, value] of [
    ['SVC_API_KEY', 'svc_live_first\nsecond'],
    ['SVC_API_KEY', 'svc_live_first…'],
    ['SVC_TOKEN', 'svc_sess_first second'],
  ] as const) {
    const ended = await svc(['models', '--json'], { ...options, env: { [name]: value } })
    t.equal(ended.code, 4, value)
    t.match(ended.stderr, `${name} holds a character`)
    t.notMatch(ended.stdout + ended.stderr, 'first')
  }
  t.equal(server.received.length, 0)
  t.equal((await svc(['models'], { ...options, env: { SVC_API_KEY: ' svc_live_x\r\n' } })).code, 0)
  t.equal(server.received[0]?.headers.authorization, 'Bearer svc_live_x')
})

t.test('a refusal for quota says when there is some again, in the reader’s time', async (t) => {
  const headers = new Headers({ 'x-acme-quota-reset': String(Date.parse('2030-01-02T03:04:05Z') / 1000) })
  const body = envelope({ headers: { 'x-svc-request-id': 'mbr_1' } }, 'upstream_error')
  const { hints } = serviceFailure({ status: 402, headers, body: { ...body, actions: ['retry_later'] }, requestId: 'mbr_1' })
  t.match(hints[0], { en: /^try again after .*2030/ })
  const { details } = serviceFailure({ status: 429, headers: new Headers({ 'retry-after': '17' }), body, requestId: 'mbr_1' })
  t.match(details, { retryAfter: 17 }, 'whoever polls waits as long')
})

t.test('so it is through the whole program', async (t) => {
  const server = await startContractServer()
  t.teardown(() => server.close())
  const home = t.testdir()
  for (const [code, up] of [['internal_error'], ['upstream_error', 500], ['quota_exceeded'], ['not_found']] as const) {
    server.routes['GET /api/membership/plans'] = (received, response) => fail(response, received, code, up)
    const ended = await svc(['plans'], { home, site: server.origin })
    const { status, stage } = catalogue[code]
    const id = server.received.at(-1)?.headers['x-svc-request-id']
    const ref = `Ref: ${id} · ${code} · stage=${stage} · HTTP ${status}${up === undefined ? '' : ` · up=${up}`}`
    t.equal(ended.stderr.trimEnd().split('\n').at(-1), ref)
    t.equal(ended.code, exitOf[code])
    t.equal(ended.stdout, '')
  }
})

t.test('the request id is one the service takes as its own', async (t) => {
  const server = await startContractServer({ 'GET /api/membership/plans': (_, response) => json(response, { data: [] }) })
  t.teardown(() => server.close())
  const home = t.testdir()
  await svc(['plans'], { home, site: server.origin })
  await svc(['plans'], { home, site: server.origin })
  const ids = server.received.map(({ headers }) => headers['x-svc-request-id'])
  for (const id of ids) t.match(id, /^mbr_[0-9A-HJKMNP-TV-Z]{26}$/)
  t.not(ids[0], ids[1])
})

t.test(
  'with --json the failure is one document on standard output, and the Ref line is still the last on standard error',
  async (t) => {
    const server = await startContractServer({
      'GET /api/membership/plans': (received, response) => fail(response, received, 'upstream_error', 500),
    })
    t.teardown(() => server.close())
    const ended = await svc(['plans', '--json'], { home: t.testdir(), site: server.origin })
    const document = JSON.parse(ended.stdout)
    t.match(document, {
      ok: false,
      error: { code: 'upstream_error', message: catalogue.upstream_error.en, ref: /^Ref: mbr_.* · up=500$/ },
    })
    t.match(document.error.details, { stage: 'upstream', status: 502, actions: ['retry_later', 'switch_model'] })
    t.equal(ended.stderr.trimEnd().split('\n').at(-1), document.error.ref)
  },
)

t.test('in Chinese the Chinese message is shown', async (t) => {
  const server = await startContractServer({
    'GET /api/membership/plans': (received, response) => fail(response, received, 'quota_exceeded'),
  })
  t.teardown(() => server.close())
  const home = t.testdir()
  for (const env of [{ SVC_LANG: 'zh' }, { LANG: 'zh_CN.UTF-8' }]) {
    const ended = await svc(['plans'], { home, site: server.origin, env })
    t.match(ended.stderr, `错误: ${catalogue.quota_exceeded.zh}`)
    t.match(ended.stderr, 'svc boost')
  }
})

t.test('a waiting time that the server names is told', async (t) => {
  const server = await startContractServer({
    'GET /api/membership/plans': (received, response) =>
      fail(response, received, 'rate_limited', undefined, { 'retry-after': '17' }),
  })
  t.teardown(() => server.close())
  t.match((await svc(['plans'], { home: t.testdir(), site: server.origin })).stderr, 'try again in 17 s')
})

t.test("an answer that is not the service's envelope is told from its headers and its status", async (t) => {
  const server = await startContractServer({
    'GET /api/membership/plans': (_, response) => {
      response.writeHead(502, {
        'content-type': 'text/html',
        'x-svc-error-code': 'upstream_error',
        'x-svc-error-stage': 'upstream',
        'x-request-id': 'mbr_proxy',
      })
      response.end('<html>bad gateway\u001b[2J</html>')
    },
  })
  t.teardown(() => server.close())
  const home = t.testdir()
  const known = await svc(['plans'], { home, site: server.origin })
  t.equal(known.stderr.trimEnd().split('\n').at(-1), 'Ref: mbr_proxy · upstream_error · stage=upstream · HTTP 502')
  t.equal(known.code, 7)
  server.routes['GET /api/membership/plans'] = (_, response) => void response.writeHead(503).end()
  const unknown = await svc(['plans'], { home, site: server.origin })
  const id = server.received.at(-1)?.headers['x-svc-request-id']
  t.equal(unknown.stderr.trimEnd().split('\n').at(-1), `Ref: ${id} · unknown · stage=unknown · HTTP 503`)
})

t.test('a success that is not JSON is no success', async (t) => {
  const server = await startContractServer({
    'GET /api/membership/plans': (_, response) =>
      void response.writeHead(200, { 'content-type': 'text/html' }).end('<h1>It works</h1>'),
  })
  t.teardown(() => server.close())
  const ended = await svc(['plans'], { home: t.testdir(), site: server.origin })
  t.equal(ended.code, 1)
  t.match(ended.stderr, /is not the service's JSON/)
})

t.test('a server that cannot be reached: which address was tried, why, and the id that was sent; no Ref line', async (t) => {
  const server = await startContractServer()
  await server.close()
  const ended = await runProgram(['plans'], { home: t.testdir(), site: server.origin })
  t.equal(ended.code, 7)
  t.match(ended.stderr, `Could not reach ${server.origin}: nothing listens there (ECONNREFUSED)`)
  t.match(ended.stderr, /request id: mbr_[0-9A-Z]{26}/)
  t.notMatch(ended.stderr, 'Ref:')
  t.notMatch(ended.stderr, /\n\s+at /, 'no stack trace')
  const chinese = await svc(['plans'], { home: t.testdir(), site: server.origin, env: { SVC_LANG: 'zh' } })
  t.match(chinese.stderr, `无法连接 ${server.origin}:该地址无服务监听(ECONNREFUSED)`)
})

t.test('a server that cuts the connection, and one that never answers', async (t) => {
  const server = await startContractServer({
    'GET /api/membership/plans': (_, response) => void response.destroy(),
    'GET /v1/models': () => {},
  })
  t.teardown(() => server.close())
  const home = t.testdir()
  const cut = await svc(['plans'], { home, site: server.origin })
  t.equal(cut.code, 7)
  t.match(cut.stderr, /Could not reach .*: the connection was cut/)
  const silent = await svc(['models', '--timeout', '0.2'], { home, site: server.origin, env: { SVC_API_KEY: 'svc_live_x' } })
  t.equal(silent.code, 8)
  t.match(silent.stderr, `No answer from ${server.origin} within 0.2 s.`)
  t.match(silent.stderr, /request id: mbr_/)
})

t.test('a redirect is not followed, and the token goes nowhere', async (t) => {
  const other = await startContractServer({ 'GET /v1/models': (_, response) => json(response, { data: [] }) })
  const server = await startContractServer({
    'GET /v1/models': (_, response) => void response.writeHead(307, { location: `${other.origin}/v1/models` }).end(),
  })
  t.teardown(() => Promise.all([server.close(), other.close()]))
  const ended = await svc(['models'], { home: t.testdir(), site: server.origin, env: { SVC_API_KEY: 'svc_live_x' } })
  t.equal(ended.code, 1)
  t.match(ended.stderr, `svc config set site_url ${other.origin}`)
  t.strictSame(other.received, [])
})

t.test("control sequences in the server's words never reach the terminal", async (t) => {
  const server = await startContractServer({
    'GET /api/membership/plans': (received, response) => {
      const message = 'evil\u001b]0;title\u0007\u001b[2J\u009b31m\rwords'
      const requestId = `${received.headers['x-svc-request-id']}\u001b[2J`
      json(
        response,
        {
          ok: false,
          code: 'internal_error',
          stage: '\u001b[31minternal',
          message,
          messageZh: message,
          requestId,
          actions: ['\u001b[31m'],
        },
        500,
      )
    },
  })
  t.teardown(() => server.close())
  const home = t.testdir()
  for (const words of [['plans'], ['plans', '--json']]) {
    const ended = await svc(words, { home, site: server.origin, env: { FORCE_COLOR: '' } })
    t.match(ended.stderr, 'evilwords')
    t.notOk(
      [...(ended.stderr + ended.stdout)].some(
        (character) => character !== '\n' && (character < ' ' || (character >= '\u007f' && character <= '\u009f')),
      ),
    )
  }
})
