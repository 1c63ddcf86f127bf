/** Plan pools belong to the person: after deleting the account, and with any of their addresses. */
import t from 'tap'
import { WebsiteClient } from '../../../support/gateway/website-client.ts'
import { startGateway } from '../../../support/gateway/test-gateway.ts'
import type { TestGateway } from '../../../support/gateway/test-gateway.ts'
import { createClock } from '../../../../src/system/clock.ts'

const dayMs = 86_400_000
/** A Monday in mid-month, so that day, week and month end at different times. */
const monday = Date.parse('2026-03-16T10:00:00Z')

const attempts = { 'code-resend': { times: 99, withinMs: 60_000 }, 'code-by-network': { times: 99, withinMs: 60_000 } }

interface Used {
  readonly tier: string
  readonly window: string
  readonly used: number
}

async function usedBy(browser: WebsiteClient): Promise<Record<string, number>> {
  const { pools } = (await browser.get('usage')).body
  const fast = (pools as Used[]).filter(({ tier }) => tier === 'fast')
  return Object.fromEntries(fast.map(({ window, used }) => [window, used]))
}

/** Charges one turn of this member. */
async function use(gateway: TestGateway, browser: WebsiteClient): Promise<void> {
  const { token } = (await browser.post('auth/api-keys', { name: 'mine' })).body
  const answer = await gateway.chat(token, { model: 'auto' })
  if (answer.status !== 200) throw new Error(`the turn failed: ${await answer.text()}`)
  await answer.text()
  await gateway.waitUntilSettled()
}

t.test('a returning member continues with their usage until each period ends', async (t) => {
  let now = monday
  const gateway = await startGateway(t, { limits: { attempts } }, { clock: createClock({ now: () => now }) })
  const email = 'leaver@example.com'
  let browser = new WebsiteClient(gateway)
  await browser.signIn(email)
  await use(gateway, browser)
  const first = await usedBy(browser)
  t.ok((first['day'] ?? 0) > 0)
  for (let round = 1; round <= 3; round++) {
    t.equal((await browser.post('auth/delete-account', { confirm: email })).status, 200)
    // The helper distinguishes emails by their time.
    now += 1_000
    browser = new WebsiteClient(gateway)
    t.equal((await browser.signIn(email)).body.created, true)
    t.same(await usedBy(browser), first, `round ${round}`)
  }
  await use(gateway, browser)
  const second = await usedBy(browser)
  t.ok((second['day'] ?? 0) > (first['day'] ?? 0), 'new usage is added')

  await browser.post('auth/delete-account', { confirm: email })
  now += dayMs
  browser = new WebsiteClient(gateway)
  await browser.signIn(email)
  t.same(await usedBy(browser), { ...second, day: 0 }, 'the day has ended')
  await browser.post('auth/delete-account', { confirm: email })
  now += 31 * dayMs
  await gateway.services.membership.deleteExpired()
  const kept = await gateway.services.store.carriedUsage.find(new Uint8Array(32))
  t.same(kept, [])
  browser = new WebsiteClient(gateway)
  await browser.signIn(email)
  t.same(await usedBy(browser), { day: 0, week: 0, month: 0 }, 'the month has ended')
})

t.test('four spellings of one Gmail address share an account', async (t) => {
  const gateway = await startGateway(t, { limits: { attempts } })
  const ids = new Set<string>()
  for (const email of ['ann.lee@gmail.com', 'annlee@gmail.com', 'a.n.n.lee+shop@gmail.com', 'annlee@googlemail.com']) {
    const { account } = (await new WebsiteClient(gateway).signIn(email)).body
    ids.add(account.id)
    t.equal(account.email, 'ann.lee@gmail.com', email)
  }
  t.equal(ids.size, 1)
  t.not((await new WebsiteClient(gateway).signIn('annlees@gmail.com')).body.account.id, [...ids][0])
})

t.test("an address with a plus at another provider has its own account, but shares the person's usage", async (t) => {
  const gateway = await startGateway(t, { limits: { attempts } })
  const ann = new WebsiteClient(gateway)
  await ann.signIn('ann@example.com')
  await use(gateway, ann)
  const tagged = new WebsiteClient(gateway)
  t.equal((await tagged.signIn('ann+two@example.com')).body.created, true)
  t.same(await usedBy(tagged), await usedBy(ann))
  const back = new WebsiteClient(gateway)
  t.equal((await back.signIn('ann+two@example.com')).body.created, false)
  t.equal((await back.get('auth/session')).body.account.email, 'ann+two@example.com')

  const apart = await startGateway(t, { limits: { attempts }, signIn: { mergeAliases: false } })
  await new WebsiteClient(apart).signIn('ann.lee@gmail.com')
  t.equal((await new WebsiteClient(apart).signIn('annlee@gmail.com')).body.created, true, 'separate accounts if configured')
})
