/** Boosts through the membership API. */
import t from 'tap'
import { openRush } from '../../../../../src/domain/services/boost-service.ts'
import { WebsiteClient } from '../../../../support/gateway/website-client.ts'
import { startGateway, waitUntil } from '../../../../support/gateway/test-gateway.ts'

t.test('grants one of a hundred simultaneous check-ins', async (t) => {
  const gateway = await startGateway(t, { limits: { attempts: { 'boost-by-account': { times: 1000, withinMs: 60_000 } } } })
  const browser = new WebsiteClient(gateway)
  await browser.signIn('member@example.com')
  t.match((await browser.get('boost')).body, {
    balance: 0,
    checkin: { available: true, credits: 5_000 },
    invite: { code: /^[a-z0-9]{10}$/, url: /^http.+\/sign-in\?invite=[a-z0-9]{10}$/, credited: 0, limit: 10 },
    rush: { active: false, starts_at: null, ends_at: null, remaining: 0 },
    packs: [],
  })
  const answers = await Promise.all(Array.from({ length: 100 }, () => browser.post('boost', { action: 'checkin' })))
  const granted = answers.filter(({ status }) => status === 200)
  t.equal(granted.length, 1)
  t.match(granted[0]?.body, { ok: true, pack: { kind: 'checkin', granted: 5_000, remaining: 5_000 }, boost: { balance: 5_000 } })
  const refused = answers.filter(({ status }) => status === 409)
  t.equal(refused.length, 99)
  t.match(refused[0]?.body, { code: 'boost_unavailable', stage: 'membership', actions: ['retry_later'] })
  t.match((await browser.get('boost')).body, { balance: 5_000, checkin: { available: false } })
  t.match((await browser.get('usage')).body.boosts, [{ kind: 'checkin', remaining: 5_000 }])
})

t.test('grants an open rush pack once per account', async (t) => {
  const gateway = await startGateway(t)
  const { store, clock } = gateway.services
  const browser = new WebsiteClient(gateway)
  await browser.signIn('member@example.com')
  t.match(await browser.post('boost', { action: 'rush_grab' }), { status: 409, body: { code: 'boost_unavailable' } })
  const now = clock.now()
  await openRush(
    store.boosts,
    { id: 'rush_1', packs: 2, pool: 'premium', credits: 900, packMs: 1e9, startsAt: now, endsAt: now + 1e6 },
    now,
  )
  t.match((await browser.get('boost')).body.rush, { active: true, remaining: 2, credits: 900, tier: 'premium', taken: false })
  t.match(await browser.post('boost', { action: 'rush_grab' }), {
    status: 200,
    body: { boost: { rush: { remaining: 1, taken: true } } },
  })
  t.equal((await browser.post('boost', { action: 'rush_grab' })).status, 409)
})

t.test('pays inviter and invited at the first turn', async (t) => {
  const gateway = await startGateway(t)
  const ann = new WebsiteClient(gateway)
  await ann.signIn('ann@example.com')
  const { code } = (await ann.get('boost')).body.invite
  const ben = new WebsiteClient(gateway)
  t.match((await ben.signIn('ben@example.com', { invite: code })).body, { created: true, invited: true })
  const self = new WebsiteClient(gateway)
  t.match((await self.signIn('ann+self@example.com', { invite: code })).body, { created: true, invited: false })
  t.match((await new WebsiteClient(gateway).signIn('cleo@example.com', { invite: 'nobodyscode' })).body, {
    created: true,
    invited: false,
  })
  const { token } = (await ben.post('auth/api-keys', { name: 'first' })).body
  t.equal((await gateway.chat(token)).status, 200)
  await waitUntil(async () => (await ann.get('boost')).body.balance === 50_000, 'the inviter to be paid')
  t.equal((await ben.get('boost')).body.balance, 50_000)
  t.match((await ann.get('boost')).body.invite, { credited: 1 })
})

t.test('spends packs after the plan is used up, the one that expires first before the others', async (t) => {
  const gateway = await startGateway(t, {
    plans: { free: { pools: { fast: { day: 0, week: 0, month: 0 }, premium: { day: 0, week: 0, month: 0 } } } },
  })
  const { ledger, clock } = gateway.services
  const browser = new WebsiteClient(gateway)
  const { id } = (await browser.signIn('member@example.com')).body.account
  const { token } = (await browser.post('auth/api-keys', { name: 'first' })).body
  const body = { model: 'auto', max_tokens: 50 }
  t.match(await (await gateway.chat(token, body)).json(), { code: 'quota_exceeded' })
  const at = clock.now()
  const grant = { account: id, kind: 'grant', pool: 'fast', credits: 10_000, at } as const
  await ledger.grant({ ...grant, id: 'pack_later', expiresAt: at + 2e9 })
  await ledger.grant({ ...grant, id: 'pack_sooner', expiresAt: at + 1e9 })
  t.equal((await gateway.chat(token, body)).status, 200)
  const { packs } = (await browser.get('boost')).body
  t.same(
    packs.map((pack: { id: string }) => pack.id),
    ['pack_sooner', 'pack_later'],
  )
  t.ok(packs[0].remaining < 10_000)
  t.equal(packs[1].remaining, 10_000)
})
