/** The account's commands against a scripted service: their requests, their output, and the cases without a request. */
import t from 'tap'
import { sendError, sendJson, startStubGateway } from '../../../support/cli/stub-gateway.ts'
import { runSvc } from '../../../support/cli/run-svc.ts'
import { CredentialStore } from '../../../../src/cli/user-config/credentials.ts'

// A command reads the time zone of its process.
process.env['TZ'] = 'UTC'

const key = { SVC_API_KEY: 'svc_live_x' }
const token = { SVC_TOKEN: 'svc_sess_x' }
const account = { id: 'acct_1', email_masked: 'm***@example.org', plan: 'free' }

t.test('models prints a table, and with --json the list', async (t) => {
  const data = [
    {
      id: 'svc-2.1',
      object: 'model',
      tier: 'flagship',
      capabilities: ['chat'],
      context_length: 128_000,
      pricing: {
        input: 0.435,
        output: 0.87,
        effective_input: 0.10875,
        effective_output: 0.2175,
        currency: 'USD',
        per: 1_000_000,
      },
      shutdown_date: null,
    },
    { id: 'odd\u001b[31m', tier: 7 },
  ]
  const server = await startStubGateway({ 'GET /v1/models': (_, response) => sendJson(response, { object: 'list', data }) })
  t.teardown(() => server.close())
  const home = t.testdir()
  const { stdout } = await runSvc(['models'], { home, site: server.origin, env: key })
  const [heading, first, second] = stdout.split('\n')
  t.match(heading, /^MODEL +TIER +CAN +CONTEXT +\$ PER 1M IN \/ OUT$/)
  t.match(first, /^svc-2\.1 +Premium +chat +128K +\$0\.10875 \/ \$0\.2175$/, 'as it is charged, in the words of the website')
  t.match(second?.trim(), /^odd +7$/, 'a strange row is shown as far as it can be')
  const document = JSON.parse((await runSvc(['models', '--json'], { home, site: server.origin, env: key })).stdout)
  t.strictSame(document, { ok: true, result: data })

  const [model] = data
  const pricing = { ...model?.pricing, cached_input: 0.1, effective_cached_input: 0.025 }
  server.routes['GET /v1/models'] = (_, response) => sendJson(response, { object: 'list', data: [{ ...model, pricing }] })
  t.match((await runSvc(['models'], { home, site: server.origin, env: key })).stdout, '$0.10875 ($0.025 cached) / $0.2175')
})

t.test('plans need no credential and send none', async (t) => {
  const data = [
    {
      id: 'free',
      name: 'Free',
      prices: [],
      rpm: 10,
      messages: { fast: { day: 100, week: 500, month: 1500 }, premium: { day: 5, week: 20, month: 60 } },
    },
    {
      id: 'max',
      name: 'Max',
      prices: [
        { amount: 19, currency: 'USD', interval: 'month', multiplier: 5 },
        { amount: 39, currency: 'USD', interval: 'month', multiplier: 20 },
      ],
      rpm: 120,
      messages: { fast: { day: 2_000_000, week: null }, premium: {} },
    },
    {
      id: 'team',
      name: 'Team',
      prices: [],
      rpm: 60,
      messages: { fast: { day: 1_000 }, premium: {} },
      options: [1, 4].map((multiplier) => ({
        id: `team-${multiplier}`,
        name: 'Team',
        prices: [{ amount: 10 * multiplier, currency: 'USD', interval: 'month', multiplier }],
        rpm: 60 * multiplier,
        messages: { fast: { day: 1_000 * multiplier }, premium: {} },
      })),
    },
  ]
  const server = await startStubGateway({
    'GET /api/membership/plans': (_, response) => sendJson(response, { object: 'list', data }),
  })
  t.teardown(() => server.close())
  const { stdout } = await runSvc(['plans'], { home: t.testdir(), site: server.origin, env: { ...key, ...token } })
  t.match(stdout, /Free +free +≈ 100 \/ 500 \/ 1500 +≈ 5 \/ 20 \/ 60 +10\n/)
  t.match(stdout, /Max +\$19\/month \(5x\), \$39\/month \(20x\) +≈ 2M \/ – \/ – /)
  t.match(
    stdout,
    /Team +\$10\/month( \(1x\))? +≈ 1000 \/ [^\n]* 60\nTeam +\$40\/month \(4x\) +≈ 4000 \/ [^\n]* 240\n/,
    'each price with what it includes',
  )
  t.equal(server.requests[0]?.headers.authorization, undefined)
})

t.test('usage names the account and shows its pools, packs and turns', async (t) => {
  const usage = {
    account,
    plan: 'free',
    plan_name: 'Free',
    pools: [{ tier: 'fast', window: 'day', limit: 100, used: 50, reserved: 0, remaining: 50, resets_at: '2027-01-01T00:00:00Z' }],
    turns: [
      {
        request_id: 'mbr_1',
        model: 'svc-2.1',
        state: 'refunded',
        credits: 0,
        input_tokens: 12,
        output_tokens: 0,
        code: 'upstream_error',
        started_at: '2027-01-01T00:00:00Z',
      },
    ],
    boosts: [{ kind: 'checkin', tier: 'fast', granted: 20, remaining: 12.5, expires_at: '2027-01-02T00:00:00Z' }],
  }
  const server = await startStubGateway({ 'GET /api/membership/usage': (_, response) => sendJson(response, usage) })
  t.teardown(() => server.close())
  const home = t.testdir()
  const { stdout } = await runSvc(['usage'], { home, site: server.origin, env: token })
  t.match(stdout, 'Account: m***@example.org (session from SVC_TOKEN)\nPlan: Free\n')
  t.match(stdout, /Fast day +\[##########\.{10}\] +50% +50 +100 +50 +1 Jan 2027 00:00/)
  t.match(stdout, 'checkin Fast: 12.5 of 20 credits, until 2 Jan 2027 00:00 (UTC)')
  t.match(
    (await runSvc(['usage'], { home, site: server.origin, env: { ...token, SVC_LANG: 'zh' } })).stdout,
    '账户：m***@example.org（登录来自 SVC_TOKEN）\n套餐：Free',
  )
  const turns = await runSvc(['usage', '--turns'], { home, site: server.origin, env: token })
  t.match(turns.stdout, /^1 Jan 2027 00:00 +svc-2\.1 +refunded +12 +0 +0 +upstream_error +mbr_1$/m)
  t.match(turns.stdout, /^Account: m\*\*\*@example\.org /)
  t.notMatch(turns.stdout, 'CACHED', 'no column without such tokens')
  const cachedTurn = { ...usage.turns[0], state: 'settled', code: null, input_tokens: 1_200, cached_input_tokens: 1_024 }
  server.routes['GET /api/membership/usage'] = (_, response) => sendJson(response, { ...usage, turns: [cachedTurn] })
  const cached = await runSvc(['usage', '--turns'], { home, site: server.origin, env: token })
  t.match(cached.stdout, /^WHEN .* IN +CACHED +OUT .*\n.* settled +1200 +1024 +0 +0 /m)
  server.routes['GET /api/membership/usage'] = (_, response) =>
    sendJson(response, { account: { ...account, email_masked: null }, plan: 'free' })
  const empty = await runSvc(['usage', '--turns'], { home, site: server.origin, env: token })
  t.equal(empty.stdout, 'Account: acct_1 (session from SVC_TOKEN)\nNo turns yet.\n', 'the id where there is no address')
})

t.test('usage shows the account of a key, and what a request of it cost', async (t) => {
  const pools = [{ tier: 'fast', window: 'day', limit: 200, used: 50, reserved: 0, remaining: 150, resets_at: null }]
  const turn = { request_id: 'mbr_1', model: 'svc-2.1', state: 'settled', credits: 207, input_tokens: 9, output_tokens: 3 }
  const server = await startStubGateway({
    'GET /v1/usage': (_, response) =>
      sendJson(response, { plan: 'pro', plan_name: 'Pro', pools, limits: { requests_per_minute: 60, concurrent_turns: 4 } }),
    'GET /v1/turns/mbr_1': (_, response) =>
      sendJson(response, { request_id: 'mbr_1', credits: 407, data: [turn, { ...turn, credits: 200 }] }),
  })
  t.teardown(() => server.close())
  const options = { home: t.testdir(), site: server.origin, env: key }
  const { code, stdout } = await runSvc(['usage'], options)
  t.equal(code, 0)
  t.match(
    stdout,
    /^Account of the key in SVC_API_KEY\nPlan: Pro\n\n[^]*Fast day[^]* 50 +200 +150[^]*\n\nLimits: 60 requests a minute, 4 at once\n$/,
  )
  t.match(JSON.parse((await runSvc(['usage', '--json'], options)).stdout), { ok: true, result: { pools } })
  for (const env of [key, token]) {
    const request = await runSvc(['usage', '--request', 'mbr_1'], { ...options, env })
    t.match(request.stdout, /^mbr_1: 407 credits\n\n[^]* 207 [^]* 200 /)
  }
  const unknown = await runSvc(['usage', '--request', 'mbr_2'], options)
  t.not(unknown.code, 0)
})

t.test('turns and boost refuse while a key is set, whatever session there is', async (t) => {
  const server = await startStubGateway()
  t.teardown(() => server.close())
  const home = t.testdir()
  const session = { token: 'svc_sess_file', apiOrigin: server.origin, signedInAt: 1 }
  new CredentialStore({ variables: { XDG_CONFIG_HOME: home }, platform: process.platform, home }).save(server.origin, session)
  for (const words of [['usage', '--turns'], ['alerts'], ['boost'], ['boost', 'checkin'], ['boost', 'rush']]) {
    for (const env of [key, { ...key, ...token }]) {
      const refused = await runSvc(words, { home, site: server.origin, env })
      t.equal(refused.code, 4, words.join(' '))
      t.equal(refused.stdout, '')
      t.match(refused.stderr, 'SVC_API_KEY is set, and an API key does not open this command.')
      t.match(refused.stderr, 'unset SVC_API_KEY')
    }
  }
  t.strictSame(server.requests, [], 'nothing was sent, with either credential')
  server.routes['GET /api/membership/usage'] = (_, response) => sendJson(response, { account, plan: 'free' })
  const emptied = await runSvc(['usage'], { home, site: server.origin, env: { SVC_API_KEY: '' } })
  t.match(emptied.stdout, 'Account: m***@example.org (session from svc login)\n')
  t.equal(server.requests.at(-1)?.headers.authorization, 'Bearer svc_sess_file')
})

t.test('omits missing fields of an unknown service version, and reports fields of an unexpected type', async (t) => {
  const server = await startStubGateway({ 'GET /api/membership/usage': (_, response) => sendJson(response, { plan: 'free' }) })
  t.teardown(() => server.close())
  const options = { home: t.testdir(), site: server.origin, env: token }
  t.match((await runSvc(['usage'], options)).stdout, 'Account: unknown (session from SVC_TOKEN)\nPlan: free\n')
  server.routes['GET /api/membership/usage'] = (_, response) => sendJson(response, { plan: 'free', pools: 'many' })
  const strange = await runSvc(['usage'], options)
  t.equal(strange.code, 1)
  t.match(strange.stderr, 'sent an answer that this version of svc cannot read.')
  t.match(JSON.parse((await runSvc(['usage', '--json'], options)).stdout), { ok: true, result: { plan: 'free', pools: 'many' } })
  server.routes['GET /api/membership/usage'] = (_, response) => sendJson(response, 'hello')
  t.match((await runSvc(['usage'], options)).stderr, 'sent an answer that this version of svc cannot read.')
})

t.test('boost shows the status, claims a check-in or rush pack, and names the account', async (t) => {
  const status = {
    balance: 30,
    checkin: { available: true, next_at: null, credits: 20 },
    invite: { code: 'ABC', url: 'https://example.org/i/ABC', credited: 1, limit: 10 },
    rush: { active: true, starts_at: '2027-01-01T00:00:00Z', ends_at: '2027-01-01T01:00:00Z', remaining: 3 },
    packs: [{ id: 'p', kind: 'invite', tier: 'fast', granted: 30, remaining: 30, expires_at: '2027-02-01T00:00:00Z' }],
  }
  const server = await startStubGateway({
    'GET /api/membership/usage': (_, response) => sendJson(response, { account, plan: 'free' }),
    'GET /api/membership/boost': (_, response) => sendJson(response, status),
    'POST /api/membership/boost': (_, response) => sendJson(response, { ok: true, pack: { granted: 20 } }),
  })
  t.teardown(() => server.close())
  const home = t.testdir()
  const options = { home, site: server.origin, env: token }
  const { stdout } = await runSvc(['boost'], options)
  t.match(stdout, /^Account: m\*\*\*@example\.org \(session from SVC_TOKEN\)\nBoost: 30 left\n/)
  t.match(stdout, 'Boost: 30 left\nCheck-in: +20 now: svc boost checkin\nInvite: https://example.org/i/ABC (1 of 10 credited)\n')
  t.match(stdout, 'Rush: open until 1 Jan 2027 01:00 (UTC), 3 packs left: svc boost rush')
  t.match(stdout, 'invite Fast: 30 of 30 credits, until 1 Feb 2027 00:00 (UTC)')
  t.equal(
    (await runSvc(['boost', 'checkin'], options)).stdout,
    'Checked in. +20\nAccount: m***@example.org (session from SVC_TOKEN)\n',
  )
  t.strictSame(server.requests.at(-1)?.body, { action: 'checkin' })
  t.equal(
    (await runSvc(['boost', 'rush'], options)).stdout,
    'You got a rush pack. +20\nAccount: m***@example.org (session from SVC_TOKEN)\n',
  )
  t.strictSame(server.requests.at(-1)?.body, { action: 'rush_grab' })
  t.match(JSON.parse((await runSvc(['boost', '--json'], options)).stdout), { ok: true, result: { ...status, account } })
  server.routes['POST /api/membership/boost'] = (received, response) => sendError(response, received, 'boost_unavailable')
  const again = await runSvc(['boost', 'checkin'], options)
  t.equal(again.code, 1)
  t.match(again.stderr, /boost_unavailable · stage=membership · HTTP 409/)
  server.routes['GET /api/membership/usage'] = (received, response) => sendError(response, received, 'sign_in_required')
  const claims = server.requests.filter(({ method }) => method === 'POST').length
  t.equal((await runSvc(['boost', 'checkin'], options)).code, 4)
  t.equal(
    server.requests.filter(({ method }) => method === 'POST').length,
    claims,
    'nothing is claimed for an account it cannot name',
  )
})

t.test('keys prints the address of the page and sends nothing', async (t) => {
  const ended = await runSvc(['keys'], { home: t.testdir(), site: 'https://example.org/' })
  t.equal(ended.stdout, 'https://example.org/keys\n')
  t.match(JSON.parse((await runSvc(['keys', '--json'], { home: t.testdir(), site: 'https://example.org' })).stdout), {
    ok: true,
    result: { url: 'https://example.org/keys' },
  })
})

t.test('config stores, shows and removes settings, and refuses invalid values', async (t) => {
  const home = t.testdir()
  const run = (...words: string[]) => runSvc(['config', ...words], { home, env: { SVC_SITE_URL: '' } })
  t.match((await run('get', 'site_url')).stdout, 'http://127.0.0.1:8787\n')
  t.equal((await run('set', 'site_url', 'https://example.org')).code, 0)
  t.equal((await run('get', 'site_url')).stdout, 'https://example.org\n')
  t.match(JSON.parse((await run('--json')).stdout), { result: { site_url: { value: 'https://example.org', from: 'file' } } })
  t.match(
    (await runSvc(['config'], { home, site: 'https://env.example' })).stdout,
    /site_url +https:\/\/env\.example +SVC_SITE_URL/,
  )
  t.match(
    (await runSvc(['config', 'set', 'site_url', 'https://x.example'], { home, site: 'https://env.example' })).stderr,
    'takes precedence',
  )
  t.equal((await run('unset', 'site_url')).code, 0)
  t.match((await run('get', 'site_url')).stdout, 'http://127.0.0.1:8787')
  for (const [name, value] of [
    ['site_url', 'ftp://example.org'],
    ['site_url', 'example.org'],
    ['base_url', 'https://me:secret@example.org'],
    ['language', 'fr'],
    ['model', ''],
    ['colour', 'red'],
  ] as const) {
    t.equal((await run('set', name, value)).code, 2, `${name} ${value}`)
  }
  await run('set', 'language', 'zh')
  t.match((await run('--help')).stdout, /^示例：/)
})

t.test('refuses a brand that no header can begin with as a usage error that names it', async (t) => {
  const home = t.testdir()
  const refused = await runSvc(['config', 'set', 'brand', 'My Brand'], { home })
  t.equal(refused.code, 2)
  t.match(refused.stderr, /brand is 2 to 16 small letters and digits, not 'My Brand'/)
  const used = await runSvc(['plans'], { home, env: { SVC_BRAND: 'My Brand' } })
  t.equal(used.code, 2)
  t.match(used.stderr, 'SVC_BRAND')
})

t.test('refuses an invalid address as a usage error that names the variable', async (t) => {
  const ended = await runSvc(['plans'], { home: t.testdir(), site: 'nonsense' })
  t.equal(ended.code, 2)
  t.match(ended.stderr, "SVC_SITE_URL must be an http or https address such as https://example.org, not 'nonsense'")
})

t.test('redeem shows what a code gives, and redeems it', async (t) => {
  const account = { id: 'acc_1', email_masked: 'm***@example.org', plan: 'free' }
  const plan = { id: 'pro', name: 'Pro', span: '30d', starts_at: '2027-01-01T00:00:00Z', ends_at: '2027-01-31T00:00:00Z' }
  const outcome = { kind: 'plan', plan: { ...plan, is_waiting: false, interrupts: 'Basic' }, credits: null }
  const server = await startStubGateway({
    'GET /api/membership/usage': (_, response) => sendJson(response, { account }),
    'POST /api/membership/codes/inspect': (_, response) =>
      sendJson(response, { ...outcome, plan: { ...outcome.plan, is_waiting: true, interrupts: null } }),
    'POST /api/membership/codes/redeem': (_, response) => sendJson(response, { ok: true, outcome }),
  })
  t.teardown(() => server.close())
  const options = { home: t.testdir(), site: server.origin, env: token }
  const shown = await runSvc(['redeem', 'AAAAA-BBBBB-CCCCC-DDDDD', '--check'], options)
  t.match(shown.stdout, /^The code would give you:\n {2}Pro from 1 Jan 2027 .* until 31 Jan 2027/)
  t.strictSame(server.requests.at(-1)?.path, '/api/membership/codes/inspect')
  const redeemed = await runSvc(['redeem', 'AAAAA-BBBBB-CCCCC-DDDDD'], options)
  t.match(
    redeemed.stdout,
    /^The code is redeemed:\n {2}Pro from now until 31 Jan 2027.*\n {2}The rest of Basic follows afterwards\.\nAccount: m/,
  )
  t.strictSame(server.requests.at(-1)?.body, { code: 'AAAAA-BBBBB-CCCCC-DDDDD' })
  server.routes['POST /api/membership/codes/redeem'] = (received, response) => sendError(response, received, 'code_unusable')
  const again = await runSvc(['redeem', 'AAAAA-BBBBB-CCCCC-DDDDD'], options)
  t.equal(again.code, 1)
  t.match(again.stderr, /code_unusable · stage=membership · HTTP 409/)
  const credits = { pool: 'premium', credits: 500, days: 9, expires_at: '2027-01-31T00:00:00Z' }
  server.routes['POST /api/membership/codes/redeem'] = (_, response) =>
    sendJson(response, { ok: true, outcome: { kind: 'credits', plan: null, credits } })
  t.match((await runSvc(['redeem', 'X'], options)).stdout, /500 credits \(premium\), until 31 Jan 2027/)
})
