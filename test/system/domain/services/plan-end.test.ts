/** Plans with an end. */
import t from 'tap'
import { WebsiteClient } from '../../../support/gateway/website-client.ts'
import { startGateway } from '../../../support/gateway/test-gateway.ts'
import { createClock } from '../../../../src/system/clock.ts'

t.test('an ended plan is replaced by the default plan and audited', async (t) => {
  let now = Date.parse('2026-03-02T00:00:00Z')
  const gateway = await startGateway(t, {}, { clock: createClock({ now: () => now }) })
  const { store, membership } = gateway.services
  const browser = new WebsiteClient(gateway)
  const { account } = (await browser.signIn('member@example.com')).body
  const token = await gateway.createKey(account.id)
  const end = now + 86_400_000
  await store.accounts.setPlan(account.id, 'pro', end)
  gateway.services.credentials.invalidateEverywhere(account.id)
  t.match((await browser.get('usage')).body, { plan: 'pro', plan_until: new Date(end).toISOString() })
  t.match((await browser.get(`${gateway.url}/account`)).body, 'until Mar 3, 2026')

  now = end - 1
  await membership.subscriptions.advanceDue()
  t.match((await browser.get('usage')).body, { plan: 'pro' })
  now = end
  await membership.subscriptions.advanceDue()
  t.match((await browser.get('usage')).body, { plan: 'free', plan_until: null })
  t.equal((await gateway.chat(token, { model: 'auto' })).status, 200)
  const [changed] = (await browser.get('audit')).body.data.filter(({ event }: { event: string }) => event === 'plan_changed')
  t.match(changed, { detail: { plan: 'free', by: 'the end of the plan' } })

  await store.accounts.setPlan(account.id, 'pro', now + 1_000)
  await store.accounts.setPlan(account.id, 'max')
  now += 10_000
  await membership.subscriptions.advanceDue()
  t.match(await store.accounts.find(account.id), { plan: 'max', planUntil: null }, 'a plan set without an end has none')
})

t.test("shows the end's day in the service's calendar", async (t) => {
  const now = Date.parse('2026-03-02T00:00:00Z')
  const clock = createClock({ now: () => now })
  const gateway = await startGateway(t, { timeZone: 'Pacific/Auckland' }, { clock })
  const browser = new WebsiteClient(gateway)
  const { account } = (await browser.signIn('member@example.com')).body
  await gateway.services.store.accounts.setPlan(account.id, 'pro', Date.parse('2026-03-03T00:00:00+13:00'))
  gateway.services.credentials.invalidateEverywhere(account.id)
  t.match((await browser.get(`${gateway.url}/account`)).body, 'until Mar 3, 2026')
})
