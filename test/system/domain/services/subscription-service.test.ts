/** Members are served by the terms of their subscription, on every surface. */
import t from 'tap'
import { createClock } from '../../../../src/system/clock.ts'
import { startGateway } from '../../../support/gateway/test-gateway.ts'
import { createPlan } from '../../../support/gateway/test-plans.ts'
import { WebsiteClient } from '../../../support/gateway/website-client.ts'

const day = 86_400_000

t.test('a plan that was withdrawn is served to those who have it, and to its end', async (t) => {
  let now = Date.parse('2026-03-02T00:00:00Z')
  const gateway = await startGateway(t, {}, { clock: createClock({ now: () => now }) })
  const { membership, products } = gateway.services
  const browser = new WebsiteClient(gateway)
  const { account } = (await browser.signIn('member@example.com')).body
  const token = await gateway.createKey(account.id)
  const [first] = products.all
  const withdrawn = createPlan('gold', 7_000_000, { name: 'Gold', rpm: 17, models: [first?.id ?? ''] })
  await membership.subscriptions.give(account.id, withdrawn, now + 3 * day)

  const answer = await gateway.chat(token, { model: first?.id ?? '' })
  t.equal(answer.status, 200)
  t.match(JSON.stringify([...answer.headers]), /"17\b/, 'the requests a minute of the terms')
  const other = products.all.find(({ id, capabilities }) => id !== first?.id && capabilities.includes('chat'))
  t.equal((await gateway.chat(token, { model: other?.id ?? '' })).status, 400, 'the terms name the products')
  t.match((await browser.get('usage')).body, { plan: 'gold', plan_name: 'Gold', pools: [{ limit: 7_000_000 }] })
  t.match((await browser.get(`${gateway.url}/account`)).body, /Gold[^]*until Mar 5, 2026/)
  t.equal((await browser.get(`${gateway.url}/plans`)).status, 200)

  now += 3 * day
  await membership.subscriptions.advanceDue()
  t.match((await browser.get('usage')).body, { plan: 'free', plan_until: null })
  t.equal((await gateway.chat(token, { model: 'auto' })).status, 200)
})

t.test('a turn costs no look-up of terms while its credential is cached', async (t) => {
  const gateway = await startGateway(t)
  const { membership, credentials, store } = gateway.services
  const browser = new WebsiteClient(gateway)
  const { account } = (await browser.signIn('member@example.com')).body
  const token = await gateway.createKey(account.id)
  await membership.subscriptions.give(account.id, createPlan('gold', 7_000_000), Date.now() + day)
  const first = await credentials.resolve(token)
  let lookUps = 0
  const { findByHash } = store.apiKeys
  Object.assign(store.apiKeys, { findByHash: (hash: Uint8Array) => ((lookUps += 1), findByHash(hash)) })
  const second = credentials.resolve(token)
  t.notOk(second instanceof Promise)
  t.equal(second instanceof Promise ? undefined : second?.account.terms, first?.account.terms)
  t.equal((await gateway.chat(token, { model: 'auto' })).status, 200)
  t.equal(lookUps, 0)
})
