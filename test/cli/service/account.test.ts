/** The account's commands against a scripted service: what is asked, what is printed, and what nothing is sent for. */
import t from 'tap'
import { fail, json, startContractServer } from '../../support/contract-server.ts'
import { svc } from '../../support/run-svc.ts'

// A command reads the time zone of its process.
process.env['TZ'] = 'UTC'

const key = { SVC_API_KEY: 'svc_live_x' }
const token = { SVC_TOKEN: 'svc_sess_x' }

t.test('models: a table for people, the list for programs', async (t) => {
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
  const server = await startContractServer({ 'GET /v1/models': (_, response) => json(response, { object: 'list', data }) })
  t.teardown(() => server.close())
  const home = t.testdir()
  const { stdout } = await svc(['models'], { home, site: server.origin, env: key })
  const [heading, first, second] = stdout.split('\n')
  t.match(heading, /^MODEL +TIER +CAN +CONTEXT +IN \/ OUT +UNTIL$/)
  t.match(first, /^svc-2\.1 +Premium +chat +128k +\$0\.10875 \/ \$0\.2175$/, 'as it is charged, in the words of the website')
  t.match(second?.trim(), /^odd +7$/, 'a strange row is shown as far as it can be')
  const document = JSON.parse((await svc(['models', '--json'], { home, site: server.origin, env: key })).stdout)
  t.strictSame(document, { ok: true, result: data })
})

t.test('plans need no credential and send none', async (t) => {
  const data = [
    {
      id: 'free',
      name: 'Free',
      prices: [],
      rpm: 10,
      pools: { fast: { day: 100, week: 500, month: 1500 }, premium: { day: 5, week: 20, month: 60 } },
    },
    {
      id: 'max',
      name: 'Max',
      prices: [
        { amount: 19, currency: 'USD', interval: 'month', multiplier: 5 },
        { amount: 39, currency: 'USD', interval: 'month', multiplier: 20 },
      ],
      rpm: 120,
      pools: { fast: { day: 2_000_000, week: null }, premium: {} },
    },
    {
      id: 'team',
      name: 'Team',
      prices: [],
      rpm: 60,
      pools: { fast: { day: 1_000 }, premium: {} },
      options: [1, 4].map((multiplier) => ({
        id: `team-${multiplier}`,
        name: 'Team',
        prices: [{ amount: 10 * multiplier, currency: 'USD', interval: 'month', multiplier }],
        rpm: 60 * multiplier,
        pools: { fast: { day: 1_000 * multiplier }, premium: {} },
      })),
    },
  ]
  const server = await startContractServer({
    'GET /api/membership/plans': (_, response) => json(response, { object: 'list', data }),
  })
  t.teardown(() => server.close())
  const { stdout } = await svc(['plans'], { home: t.testdir(), site: server.origin, env: { ...key, ...token } })
  t.match(stdout, /Free +free +100 \/ 500 \/ 1500 +5 \/ 20 \/ 60 +10\n/)
  t.match(stdout, /Max +\$19\/month \(5x\), \$39\/month \(20x\) +2M \/ – \/ – /)
  t.match(
    stdout,
    /Team +\$10\/month( \(1x\))? +1000 \/ [^\n]* 60\nTeam +\$40\/month \(4x\) +4000 \/ [^\n]* 240\n/,
    'each price with what it includes',
  )
  t.equal(server.received[0]?.headers.authorization, undefined)
})

t.test('usage shows the pools and the packs; a key is not sent where no key opens the door', async (t) => {
  const usage = {
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
  const server = await startContractServer({ 'GET /api/membership/usage': (_, response) => json(response, usage) })
  t.teardown(() => server.close())
  const home = t.testdir()
  const { stdout } = await svc(['usage'], { home, site: server.origin, env: token })
  t.match(stdout, 'Plan: Free\n')
  t.match(stdout, /fast day +\[##########\.{10}\] +50 +100 +50 +2027-01-01 00:00/)
  t.match(stdout, 'checkin fast: 12.5 of 20, until 2027-01-02 00:00')
  t.match((await svc(['usage'], { home, site: server.origin, env: { ...token, SVC_LANG: 'zh' } })).stdout, '套餐:Free')
  const turns = await svc(['usage', '--turns'], { home, site: server.origin, env: token })
  t.match(turns.stdout, /^2027-01-01 00:00 +svc-2\.1 +refunded +12 +0 +0 +upstream_error +mbr_1$/m)
  const refused = await svc(['usage'], { home, site: server.origin, env: key })
  t.equal(refused.code, 4)
  t.match(refused.stderr, /the API key in SVC_API_KEY cannot open it.\n {2}run: svc login/)
  t.equal(server.received.length, 3, 'nothing was sent for the key')
  await svc(['usage'], { home, site: server.origin, env: { ...key, ...token } })
  t.equal(server.received.at(-1)?.headers.authorization, 'Bearer svc_sess_x')
})

t.test('a service of another version: what is missing is left out, what is strange is said to be so', async (t) => {
  const server = await startContractServer({ 'GET /api/membership/usage': (_, response) => json(response, { plan: 'free' }) })
  t.teardown(() => server.close())
  const options = { home: t.testdir(), site: server.origin, env: token }
  t.match((await svc(['usage'], options)).stdout, 'Plan: free\n')
  server.routes['GET /api/membership/usage'] = (_, response) => json(response, { plan: 'free', pools: 'many' })
  const strange = await svc(['usage'], options)
  t.equal(strange.code, 1)
  t.match(strange.stderr, 'answered in a form that this version of svc does not know.')
  t.match(JSON.parse((await svc(['usage', '--json'], options)).stdout), { ok: true, result: { plan: 'free', pools: 'many' } })
  server.routes['GET /api/membership/usage'] = (_, response) => json(response, 'hello')
  t.match((await svc(['usage'], options)).stderr, 'answered in a form that this version of svc does not know.')
})

t.test('boost: status, check-in and rush; done already says so', async (t) => {
  const status = {
    balance: 30,
    checkin: { available: true, next_at: null, credits: 20 },
    invite: { code: 'ABC', url: 'https://example.org/i/ABC', credited: 1, limit: 10 },
    rush: { active: true, starts_at: '2027-01-01T00:00:00Z', ends_at: '2027-01-01T01:00:00Z', remaining: 3 },
    packs: [{ id: 'p', kind: 'invite', tier: 'fast', granted: 30, remaining: 30, expires_at: '2027-02-01T00:00:00Z' }],
  }
  const server = await startContractServer({
    'GET /api/membership/boost': (_, response) => json(response, status),
    'POST /api/membership/boost': (_, response) => json(response, { ok: true, pack: { granted: 20 } }),
  })
  t.teardown(() => server.close())
  const home = t.testdir()
  const options = { home, site: server.origin, env: token }
  const { stdout } = await svc(['boost'], options)
  t.match(stdout, 'Boost: 30 left\nCheck-in: +20 now: svc boost checkin\nInvite: https://example.org/i/ABC (1 of 10 credited)\n')
  t.match(stdout, 'Rush: open until 2027-01-01 01:00, 3 packs left: svc boost rush')
  t.match(stdout, /invite fast: 30 \/ 30 +2027-02-01/)
  t.equal((await svc(['boost', 'checkin'], options)).stdout, 'Checked in. +20\n')
  t.strictSame(server.received.at(-1)?.body, { action: 'checkin' })
  t.equal((await svc(['boost', 'rush'], options)).stdout, 'You got a rush pack. +20\n')
  t.strictSame(server.received.at(-1)?.body, { action: 'rush_grab' })
  server.routes['POST /api/membership/boost'] = (received, response) => fail(response, received, 'boost_unavailable')
  const again = await svc(['boost', 'checkin'], options)
  t.equal(again.code, 1)
  t.match(again.stderr, /boost_unavailable · stage=membership · HTTP 409/)
})

t.test('keys prints the address of the page and sends nothing', async (t) => {
  const ended = await svc(['keys'], { home: t.testdir(), site: 'https://example.org/' })
  t.equal(ended.stdout, 'https://example.org/keys\n')
  t.match(JSON.parse((await svc(['keys', '--json'], { home: t.testdir(), site: 'https://example.org' })).stdout), {
    ok: true,
    result: { url: 'https://example.org/keys' },
  })
})

t.test('config keeps, shows and forgets settings, and refuses what cannot work', async (t) => {
  const home = t.testdir()
  const run = (...words: string[]) => svc(['config', ...words], { home, env: { SVC_SITE_URL: '' } })
  t.match((await run('get', 'site_url')).stdout, 'http://127.0.0.1:8787\n')
  t.equal((await run('set', 'site_url', 'https://example.org')).code, 0)
  t.equal((await run('get', 'site_url')).stdout, 'https://example.org\n')
  t.match(JSON.parse((await run('--json')).stdout), { result: { site_url: { value: 'https://example.org', from: 'file' } } })
  t.match((await svc(['config'], { home, site: 'https://env.example' })).stdout, /site_url +https:\/\/env\.example +SVC_SITE_URL/)
  t.match(
    (await svc(['config', 'set', 'site_url', 'https://x.example'], { home, site: 'https://env.example' })).stderr,
    'goes first',
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
  t.match((await run('--help')).stdout, /^示例:/)
})

t.test('a brand that no header can begin with is a usage error that names it', async (t) => {
  const home = t.testdir()
  const refused = await svc(['config', 'set', 'brand', 'My Brand'], { home })
  t.equal(refused.code, 2)
  t.match(refused.stderr, /brand is 2 to 16 small letters and digits, not 'My Brand'/)
  const used = await svc(['plans'], { home, env: { SVC_BRAND: 'My Brand' } })
  t.equal(used.code, 2)
  t.match(used.stderr, 'SVC_BRAND')
})

t.test('an address that cannot be one is a usage error that names the variable', async (t) => {
  const ended = await svc(['plans'], { home: t.testdir(), site: 'nonsense' })
  t.equal(ended.code, 2)
  t.match(ended.stderr, "SVC_SITE_URL must be an http or https address such as https://example.org, not 'nonsense'")
})
