/** What the first start makes is written down like everything else. */
import t from 'tap'
import { welcome } from '../../src/operator/welcome.ts'
import { startGateway } from '../support/gateway.ts'

t.test('the first account and its key are in the audit log, and nothing is made twice', async (t) => {
  const { gateway, services } = await startGateway(t)
  const key = /svc_live_\w+/.exec(await welcome(gateway))?.[0] ?? ''
  t.notMatch(await welcome(gateway), /svc_live_/)
  const owner = await services.store.accounts.find('owner@localhost')
  const records = await services.store.audit.list({ account: owner?.id ?? '', limit: 10 })
  t.match(records.map(({ event }) => event).toSorted(), ['account_created', 'key_made'])
  const [made] = records.filter(({ event }) => event === 'key_made')
  t.match(made, { address: null, detail: { by: 'operator', name: 'first key' } })
  t.equal((await services.credentials.resolve(key))?.account.id, owner?.id)
})
