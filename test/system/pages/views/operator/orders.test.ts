/** `/operator/orders`: the list by state, and one order with its story, also of a member's name that would be markup. */
import t from 'tap'
import { createOperator, openConsole } from '../../../../support/gateway/operators.ts'
import { startGateway } from '../../../../support/gateway/test-gateway.ts'
import { createSentOrder } from '../../../../support/website/console-data.ts'

t.test('shows orders by state, and the story of one', async (t) => {
  const gateway = await startGateway(t, { payments: { demo: true } })
  const console = await openConsole(gateway, await createOperator(gateway, 'ann@example.com', 'finance'))
  const { id: account, email } = await gateway.createAccount('free')
  const id = await createSentOrder(gateway, account)
  const { orders } = gateway.services
  const show = async (path: string) => console.get(`${gateway.url}/operator/orders${path}`)
  t.match((await show('')).body, new RegExp(`href="/operator/orders/${id}">\\d{4}-000001<`))
  t.match((await show('?state=sent')).body, id)
  t.notMatch((await show('?state=granted')).body, id)
  const open = (await show(`/${id}`)).body as string
  t.match(open, new RegExp(`${email}[^]*by the member`))
  await orders?.cancel(id, 'operator')
  t.match((await show(`/${id}`)).body, /by an operator/)
  t.match((await show('?state=cancelled')).body, id)
  for (const path of ['/ord_none', '/%27', `/${account}`]) t.equal((await show(path)).status, 404, path)
  for (const query of ['?state=none', "?before=' or 1=1", '?before=ord_zzz']) t.equal((await show(query)).status, 200, query)
  const support = await openConsole(gateway, await createOperator(gateway, 'bob@example.com', 'support'))
  t.equal((await support.get(`${gateway.url}/operator/orders/${id}`)).status, 403)
  const member = (await support.get(`${gateway.url}/operator/members/${account}`)).body
  t.notMatch(member, '/operator/orders/', 'support has no orders')
  t.match((await console.get(`${gateway.url}/operator/members/${account}`)).body, `/operator/orders/${id}`)
})
