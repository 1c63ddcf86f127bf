import t from 'tap'
import { Browser } from '../support/browser.ts'
import { startGateway, temporaryFolder } from '../support/gateway.ts'

t.test('members of a plan that is gone from the configuration are on the default plan, and the start says so', async (t) => {
  const store = { dataDir: temporaryFolder(t) }
  const before = await startGateway(t, { store })
  const member = await before.member('gone')
  await before.account('gone')
  await before.account('free')
  t.notMatch(before.log.join(''), 'not in the configuration')
  await before.close()

  const gateway = await startGateway(t, { store })
  t.match(
    gateway.log.filter((line) => line.includes('not in the configuration')),
    [/2 accounts are on the plan 'gone', which is not in the configuration, and treated as 'free'/],
  )
  t.equal((await gateway.chat(member.token)).status, 200)
  const browser = new Browser(gateway)
  await browser.signIn(member.email)
  t.match((await browser.get('usage')).body, { plan: 'free', plan_name: 'Free' })
  t.equal((await browser.get(`${gateway.url}/account`)).status, 200)
  t.match((await browser.get(`${gateway.url}/chat`)).body, /<option value="svc-2.1">/)
})
