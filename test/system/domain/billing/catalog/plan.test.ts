import t from 'tap'
import { WebsiteClient } from '../../../../support/gateway/website-client.ts'
import { startGateway, createTemporaryFolder } from '../../../../support/gateway/test-gateway.ts'

t.test('members of a removed plan have the default plan, and the start logs it', async (t) => {
  const store = { dataDir: createTemporaryFolder(t) }
  const before = await startGateway(t, { store })
  const member = await before.createMember('gone')
  await before.createAccount('gone')
  await before.createAccount('free')
  t.notMatch(before.log.join(''), 'not in the configuration')
  await before.close()

  const gateway = await startGateway(t, { store })
  t.match(
    gateway.log.filter((line) => line.includes('not in the configuration')),
    [/2 accounts are on the plan 'gone', which is not in the configuration, and treated as 'free'/],
  )
  t.equal((await gateway.chat(member.token)).status, 200)
  const browser = new WebsiteClient(gateway)
  await browser.signIn(member.email)
  t.match((await browser.get('usage')).body, { plan: 'free', plan_name: 'Free' })
  t.equal((await browser.get(`${gateway.url}/account`)).status, 200)
  t.match((await browser.get(`${gateway.url}/chat`)).body, /"id":"svc-2\.1"/)
})
