/** The account that the first start creates is in the audit log like any other. */
import t from 'tap'
import { createStartupMessage } from '../../../src/operator/startup-message.ts'
import { startGateway } from '../../support/gateway/test-gateway.ts'

t.test('writes the first account and its key to the audit log, and creates nothing twice', async (t) => {
  const { gateway, services } = await startGateway(t)
  const key = /svc_live_\w+/.exec(await createStartupMessage(gateway))?.[0] ?? ''
  t.notMatch(await createStartupMessage(gateway), /svc_live_/)
  const owner = await services.store.accounts.find('owner@localhost')
  const records = await services.store.audit.list({ account: owner?.id ?? '', limit: 10 })
  t.match(records.map(({ event }) => event).toSorted(), ['account_created', 'key_made'])
  const [made] = records.filter(({ event }) => event === 'key_made')
  t.match(made, { address: null, detail: { by: 'operator', name: 'first key' } })
  t.equal((await services.credentials.resolve(key))?.account.id, owner?.id)
})
