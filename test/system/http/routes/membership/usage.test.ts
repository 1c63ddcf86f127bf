import t from 'tap'
import { WebsiteClient } from '../../../../support/gateway/website-client.ts'
import { startGateway } from '../../../../support/gateway/test-gateway.ts'
import { createClock } from '../../../../../src/system/clock.ts'

const dayMs = 86_400_000

t.test('shows the last active day before and after the next turn', async (t) => {
  let now = Date.UTC(2026, 4, 13, 12)
  const gateway = await startGateway(t, {}, { clock: createClock({ now: () => now }) })
  const browser = new WebsiteClient(gateway)
  await browser.signIn('member@example.com')
  const turn = async (): Promise<void> => {
    const { token } = (await browser.post('auth/api-keys', { name: 'laptop' })).body
    await (await gateway.chat(token)).text()
    await gateway.waitUntilSettled()
  }
  /** The days with usage, oldest first. */
  const used = async (): Promise<string[]> => {
    const { days } = (await browser.get('usage')).body
    return days.filter(({ premium }: { premium: number }) => premium > 0).map(({ day }: { day: string }) => day)
  }
  await turn()
  t.same(await used(), ['2026-05-13'])
  now += dayMs
  t.same(await used(), ['2026-05-13'], 'the day after, before any turn')
  now += dayMs
  await turn()
  t.same(await used(), ['2026-05-13', '2026-05-15'])
})

t.test('groups the usage of the last days by key, model and API format, and adds up to the pools', async (t) => {
  let now = Date.UTC(2026, 4, 13, 12)
  const gateway = await startGateway(t, {}, { clock: createClock({ now: () => now }) })
  const browser = new WebsiteClient(gateway)
  await browser.signIn('member@example.com')
  const laptop = (await browser.post('auth/api-keys', { name: 'laptop' })).body
  const server = (await browser.post('auth/api-keys', { name: 'server' })).body
  await (await gateway.chat(laptop.token)).text()
  now += 2 * dayMs
  await (await gateway.chat(laptop.token)).text()
  await (await gateway.chat(server.token)).text()
  await gateway.waitUntilSettled()

  const { pools } = (await browser.get('usage')).body
  const month = pools.find(({ tier, window }: { tier: string; window: string }) => tier === 'premium' && window === 'month')
  const byKey = (await browser.get('usage/history?by=key&days=7')).body
  t.match(byKey.total, { turns: 3, failed: 0, credits: month.used })
  t.same(byKey.days.slice(-3), ['2026-05-13', '2026-05-14', '2026-05-15'])
  t.match(byKey.groups, [
    { id: laptop.id, name: 'laptop', turns: 2 },
    { id: server.id, name: 'server', turns: 1 },
  ])
  const [first, , last] = byKey.groups[0].credits_by_day.slice(-3)
  t.equal(first + last, byKey.groups[0].credits)
  t.match((await browser.get('usage/history?by=api_format')).body, { groups: [{ id: 'chat_completions', name: null, turns: 3 }] })
  t.match((await browser.get('auth/api-keys')).body.data, [
    { name: 'laptop', usage: { turns: 2, credits: byKey.groups[0].credits } },
    { name: 'server', usage: { turns: 1 } },
  ])
  t.equal((await browser.get('usage/history?by=color')).status, 400)
})

t.test('lists turns in pages and by key', async (t) => {
  const gateway = await startGateway(t)
  const browser = new WebsiteClient(gateway)
  await browser.signIn('member@example.com')
  const key = (await browser.post('auth/api-keys', { name: 'laptop' })).body
  for (let index = 0; index < 3; index += 1) await (await gateway.chat(key.token)).text()
  await gateway.waitUntilSettled()
  const list = async (query: string) => (await browser.get(`turns?${query}`)).body
  const all = await list('')
  t.match(all, { has_more: false, data: [{ credential: key.id }, {}, {}] })
  t.match(await list('limit=2'), { has_more: true, data: all.data.slice(0, 2) })
  t.match(await list('limit=2&offset=2'), { has_more: false, data: all.data.slice(2) })
  t.same((await list('credential=web')).data, [])
  t.same((await list(`since=${encodeURIComponent(all.data[0].started_at)}&state=refunded`)).data, [])
})

t.test('a member switches usage alerts on in their language and time zone, with a session alone', async (t) => {
  const gateway = await startGateway(t)
  const browser = new WebsiteClient(gateway)
  const { account } = (await browser.signIn('member@example.com')).body
  t.same((await browser.get('usage-alerts')).body, { enabled: false }, 'off by default')
  const reader = { 'accept-language': 'zh-CN,zh', 'x-time-zone': 'Asia/Shanghai' }
  t.same((await browser.post('usage-alerts', { enabled: true }, reader)).body, { ok: true, enabled: true })
  t.same((await browser.get('v1/usage-alerts')).body, { enabled: true })
  const { usageAlerts } = gateway.services.store
  t.same(await usageAlerts.findSubscriber(account.id), { language: 'zh', timeZone: 'Asia/Shanghai' })
  t.equal((await browser.post('usage-alerts', { enabled: 'yes' })).status, 400)

  const url = `${gateway.url}/api/membership/usage-alerts`
  const key = await gateway.createKey(account.id)
  t.equal((await fetch(url, { headers: { authorization: `Bearer ${key}` } })).status, 401, 'a key is no session')
  const foreign = await browser.post('usage-alerts', { enabled: false }, { 'sec-fetch-site': 'cross-site' })
  t.equal(foreign.status, 403, 'nor may another site switch them')
  t.same((await browser.post('usage-alerts', { enabled: false })).body, { ok: true, enabled: false })
  t.equal(await usageAlerts.findSubscriber(account.id), undefined)
})
