/** Failures as a user sees them: of the service, of the connection, and answers that are not the service's. */
import t from 'tap'
import type { Action, ErrorCode } from '../../../../../src/errors.ts'
import { errorCatalog } from '../../../../../src/errors.ts'
import { findFreePort } from '../../../../support/free-port.ts'
import { createErrorEnvelope, sendError, sendJson, startStubGateway } from '../../../../support/cli/stub-gateway.ts'
import { toServiceFailure } from '../../../../../src/cli/service-commands/client/service-failure.ts'
import { showFailure } from '../../../../../src/cli/show-failure.ts'
import { runSvcProcess, runSvc } from '../../../../support/cli/run-svc.ts'

const codes = Object.keys(errorCatalog) as ErrorCode[]

/** The exit codes of the man page; all other codes end with 1. */
const exitOf: Partial<Record<ErrorCode, number>> = {
  sign_in_required: 4,
  reauthentication_required: 4,
  second_factor_required: 4,
  step_up_required: 4,
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

t.test('shows every failure of the catalogue with its message, its exit code, and the Ref line last', async (t) => {
  for (const code of codes) {
    for (const up of [undefined, 401]) {
      const { status, stage } = errorCatalog[code]
      const body = createErrorEnvelope({ headers: { 'x-svc-request-id': 'mbr_1' } }, code, up)
      for (const language of ['en', 'zh'] as const) {
        let shown = ''
        const stderr = { styled: false, isTerminal: false, columns: 80, write: (text: string) => void (shown += text) }
        const link = `https://site.example/docs/errors#${code}`
        const headers = new Headers({ link: `<${link}>; rel="help"` })
        const failure = toServiceFailure({ status, headers, body, requestId: 'mbr_1' })
        const exit = showFailure(failure, { stdout: stderr, stderr, json: false }, language)
        const lines = shown.trimEnd().split('\n')
        t.equal(lines.at(-1), `Ref: mbr_1 · ${code} · stage=${stage} · HTTP ${status}${up === undefined ? '' : ` · up=${up}`}`)
        t.equal(lines[0], language === 'en' ? `error: ${body['message']}` : `错误：${body['messageZh']}`)
        t.equal(lines[1], language === 'en' ? `  explained at: ${link}` : `  说明：${link}`)
        t.equal(exit, exitOf[code] ?? 1, `${code}: exit code`)
        const actions: readonly Action[] = errorCatalog[code].actions
        t.equal(
          /try again later|请稍后重试$/m.test(shown),
          actions.includes('retry_later'),
          `${code}: suggests a retry where it helps`,
        )
        t.equal(shown.includes('svc models'), actions.includes('switch_model'), `${code}: suggests another model where it helps`)
        t.equal(/svc login/.test(shown), suggestsLogin.has(code), `${code}: suggests svc login only where that helps`)
      }
    }
  }
})

t.test('suggests no sign-in where a variable would still take precedence over the session', async (t) => {
  const server = await startStubGateway({
    'GET /v1/models': (received, response) => sendError(response, received, 'sign_in_required'),
    'GET /api/membership/usage': (received, response) => sendError(response, received, 'sign_in_required'),
  })
  t.teardown(() => server.close())
  const options = { home: t.testdir(), site: server.origin }
  t.match(
    (await runSvc(['models'], { ...options, env: { SVC_API_KEY: 'svc_live_x' } })).stderr,
    /the credential in SVC_API_KEY is not valid/,
  )
  t.match(
    (await runSvc(['usage'], { ...options, env: { SVC_TOKEN: 'svc_sess_x' } })).stderr,
    /the credential in SVC_TOKEN is not valid/,
  )
})

t.test('never shows a credential that cannot be sent, and does not report the service as unreachable', async (t) => {
  const server = await startStubGateway({ 'GET /v1/models': (_, response) => sendJson(response, { object: 'list', data: [] }) })
  t.teardown(() => server.close())
  const options = { home: t.testdir(), site: server.origin }
  for (const [name, value] of [
    ['SVC_API_KEY', 'svc_live_first\nsecond'],
    ['SVC_API_KEY', 'svc_live_first…'],
    ['SVC_TOKEN', 'svc_sess_first second'],
  ] as const) {
    const ended = await runSvc(['models', '--json'], { ...options, env: { [name]: value } })
    t.equal(ended.code, 4, value)
    t.match(ended.stderr, `${name} contains a character`)
    t.notMatch(ended.stdout + ended.stderr, 'first')
  }
  t.equal(server.requests.length, 0)
  t.equal((await runSvc(['models'], { ...options, env: { SVC_API_KEY: ' svc_live_x\r\n' } })).code, 0)
  t.equal(server.requests[0]?.headers.authorization, 'Bearer svc_live_x')
})

t.test('a quota refusal shows when the quota resets, in the user’s time zone', async (t) => {
  const headers = new Headers({ 'x-acme-quota-reset': String(Date.parse('2030-01-02T03:04:05Z') / 1000) })
  const body = createErrorEnvelope({ headers: { 'x-svc-request-id': 'mbr_1' } }, 'upstream_error')
  const { hints } = toServiceFailure({ status: 402, headers, body: { ...body, actions: ['retry_later'] }, requestId: 'mbr_1' })
  t.match(hints[0], { en: /^try again after .*2030/ })
  const { details } = toServiceFailure({ status: 429, headers: new Headers({ 'retry-after': '17' }), body, requestId: 'mbr_1' })
  t.match(details, { retryAfter: 17 }, 'a polling client waits as long')
})

t.test('the whole program shows the reset time too', async (t) => {
  const server = await startStubGateway()
  t.teardown(() => server.close())
  const home = t.testdir()
  for (const [code, up] of [['internal_error'], ['upstream_error', 500], ['quota_exceeded'], ['not_found']] as const) {
    server.routes['GET /api/membership/plans'] = (received, response) => sendError(response, received, code, up)
    const ended = await runSvc(['plans'], { home, site: server.origin })
    const { status, stage } = errorCatalog[code]
    const id = server.requests.at(-1)?.headers['x-svc-request-id']
    const ref = `Ref: ${id} · ${code} · stage=${stage} · HTTP ${status}${up === undefined ? '' : ` · up=${up}`}`
    t.equal(ended.stderr.trimEnd().split('\n').at(-1), ref)
    t.equal(ended.code, exitOf[code])
    t.equal(ended.stdout, '')
  }
})

t.test('the service accepts the format of the request id', async (t) => {
  const server = await startStubGateway({ 'GET /api/membership/plans': (_, response) => sendJson(response, { data: [] }) })
  t.teardown(() => server.close())
  const home = t.testdir()
  await runSvc(['plans'], { home, site: server.origin })
  await runSvc(['plans'], { home, site: server.origin })
  const ids = server.requests.map(({ headers }) => headers['x-svc-request-id'])
  for (const id of ids) t.match(id, /^mbr_[0-9A-HJKMNP-TV-Z]{26}$/)
  t.not(ids[0], ids[1])
})

t.test(
  'with --json the failure is one document on standard output, and the Ref line is still the last on standard error',
  async (t) => {
    const server = await startStubGateway({
      'GET /api/membership/plans': (received, response) => sendError(response, received, 'upstream_error', 500),
    })
    t.teardown(() => server.close())
    const ended = await runSvc(['plans', '--json'], { home: t.testdir(), site: server.origin })
    const document = JSON.parse(ended.stdout)
    t.match(document, {
      ok: false,
      error: { code: 'upstream_error', message: errorCatalog.upstream_error.en, ref: /^Ref: mbr_.* · up=500$/ },
    })
    t.match(document.error.details, { stage: 'upstream', status: 502, actions: ['retry_later', 'switch_model'] })
    t.equal(ended.stderr.trimEnd().split('\n').at(-1), document.error.ref)
  },
)

t.test('shows the Chinese message in Chinese', async (t) => {
  const server = await startStubGateway({
    'GET /api/membership/plans': (received, response) => sendError(response, received, 'quota_exceeded'),
  })
  t.teardown(() => server.close())
  const home = t.testdir()
  for (const env of [{ SVC_LANG: 'zh' }, { LANG: 'zh_CN.UTF-8' }]) {
    const ended = await runSvc(['plans'], { home, site: server.origin, env })
    t.match(ended.stderr, `错误：${errorCatalog.quota_exceeded.zh}`)
    t.match(ended.stderr, 'svc boost')
  }
})

t.test('shows the waiting time that the server names', async (t) => {
  const server = await startStubGateway({
    'GET /api/membership/plans': (received, response) =>
      sendError(response, received, 'rate_limited', undefined, { 'retry-after': '17' }),
  })
  t.teardown(() => server.close())
  t.match((await runSvc(['plans'], { home: t.testdir(), site: server.origin })).stderr, 'try again in 17 s')
})

t.test("recognizes an answer without the service's envelope by its headers and its status", async (t) => {
  const server = await startStubGateway({
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
  const known = await runSvc(['plans'], { home, site: server.origin })
  t.equal(known.stderr.trimEnd().split('\n').at(-1), 'Ref: mbr_proxy · upstream_error · stage=upstream · HTTP 502')
  t.equal(known.code, 7)
  server.routes['GET /api/membership/plans'] = (_, response) => void response.writeHead(503).end()
  const unknown = await runSvc(['plans'], { home, site: server.origin })
  const id = server.requests.at(-1)?.headers['x-svc-request-id']
  t.equal(unknown.stderr.trimEnd().split('\n').at(-1), `Ref: ${id} · unknown · stage=unknown · HTTP 503`)
})

t.test('a success that is not JSON is a failure', async (t) => {
  const server = await startStubGateway({
    'GET /api/membership/plans': (_, response) =>
      void response.writeHead(200, { 'content-type': 'text/html' }).end('<h1>It works</h1>'),
  })
  t.teardown(() => server.close())
  const ended = await runSvc(['plans'], { home: t.testdir(), site: server.origin })
  t.equal(ended.code, 1)
  t.match(ended.stderr, /is not the service's JSON/)
})

t.test('an unreachable server shows its address, the cause and the request id, but no Ref line', async (t) => {
  const site = `http://127.0.0.1:${await findFreePort()}`
  const ended = await runSvcProcess(['plans'], { home: t.testdir(), site })
  t.equal(ended.code, 7)
  t.match(ended.stderr, `Could not reach ${site}: nothing listens there (ECONNREFUSED)`)
  t.match(ended.stderr, /request id: mbr_[0-9A-Z]{26}/)
  t.notMatch(ended.stderr, 'Ref:')
  t.notMatch(ended.stderr, /\n\s+at /, 'no stack trace')
  const chinese = await runSvc(['plans'], { home: t.testdir(), site, env: { SVC_LANG: 'zh' } })
  t.match(chinese.stderr, `无法连接 ${site}：该地址无服务监听（ECONNREFUSED）`)
})

t.test('reports a server that closes the connection, and one that never answers', async (t) => {
  const server = await startStubGateway({
    'GET /api/membership/plans': (_, response) => void response.destroy(),
    'GET /v1/models': () => {},
  })
  t.teardown(() => server.close())
  const home = t.testdir()
  const cut = await runSvc(['plans'], { home, site: server.origin })
  t.equal(cut.code, 7)
  t.match(cut.stderr, /Could not reach .*: the connection was cut/)
  const silent = await runSvc(['models', '--timeout', '0.2'], { home, site: server.origin, env: { SVC_API_KEY: 'svc_live_x' } })
  t.equal(silent.code, 8)
  t.match(silent.stderr, `No answer from ${server.origin} within 0.2 s.`)
  t.match(silent.stderr, /request id: mbr_/)
})

t.test('does not follow a redirect and does not send the token there', async (t) => {
  const other = await startStubGateway({ 'GET /v1/models': (_, response) => sendJson(response, { data: [] }) })
  const server = await startStubGateway({
    'GET /v1/models': (_, response) => void response.writeHead(307, { location: `${other.origin}/v1/models` }).end(),
  })
  t.teardown(() => Promise.all([server.close(), other.close()]))
  const ended = await runSvc(['models'], { home: t.testdir(), site: server.origin, env: { SVC_API_KEY: 'svc_live_x' } })
  t.equal(ended.code, 1)
  t.match(ended.stderr, `svc config set site_url ${other.origin}`)
  t.strictSame(other.requests, [])
})

t.test("control sequences in the server's words never reach the terminal", async (t) => {
  const server = await startStubGateway({
    'GET /api/membership/plans': (received, response) => {
      const message = 'evil\u001b]0;title\u0007\u001b[2J\u009b31m\rwords'
      const requestId = `${received.headers['x-svc-request-id']}\u001b[2J`
      sendJson(
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
    const ended = await runSvc(words, { home, site: server.origin, env: { FORCE_COLOR: '' } })
    t.match(ended.stderr, 'evilwords')
    t.notOk(
      [...(ended.stderr + ended.stdout)].some(
        (character) => character !== '\n' && (character < ' ' || (character >= '\u007f' && character <= '\u009f')),
      ),
    )
  }
})
