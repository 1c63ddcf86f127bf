/** `svc-gateway order …`: transfers are confirmed, orders explained and refunded. */
import { copyFileSync, existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { Test } from 'tap'
import type { AuditEvent } from '../../../../src/domain/identity/audit.ts'
import { getTemplateDatabase } from '../../../runner/template-database.ts'
import { createPlan } from '../../../support/gateway/test-plans.ts'
import { createOperatorCli } from '../../../support/gateway/operator-cli.ts'
import { createTemporaryFolder } from '../../../support/gateway/test-gateway.ts'
import { createManualProvider } from '../../../support/payments/payment-provider-stand-in.ts'
import { createOrderWorld, placeOrder, salePlans } from '../../../support/payments/order-world.ts'
import { addAccount, toAccountId } from '../../../support/store/contract/store-contract.ts'
import { openStoreAt } from '../../../support/store/sqlite/support.ts'

const payments = { providers: { manual: { instructions: { en: 'Transfer {amount} with {reference}' } } } }

/** Higher than the default plan of the shipped configuration. */
const plans = { ...salePlans, pro: { ...salePlans.pro, pools: createPlan('pro', 1_000_000_000).pools } }

/** Orders of a member that wait for transfers. */
async function createOperator(t: Test, items: readonly string[], orderedAt = Date.now()) {
  const folder = createTemporaryFolder(t)
  const file = join(folder, 'gateway.db')
  copyFileSync(await getTemplateDatabase(), file)
  const store = await openStoreAt(t, file)
  await addAccount(store)
  const account = await store.accounts.find(toAccountId(1))
  if (account === undefined) throw new Error('there is no account')
  const world = createOrderWorld({ store, time: { now: orderedAt }, account, plans, providers: [createManualProvider()] })
  const orders = []
  for (const item of items) orders.push(await placeOrder(world, item))
  await store.close()
  const run = createOperatorCli(t, folder, { payments })
  const show = async (...words: string[]) => JSON.parse((await run(...words, '--json')).stdout)
  /** What the commands wrote. */
  const listAudit = async (...events: readonly AuditEvent[]) => {
    const opened = await openStoreAt(t, file)
    const records = await opened.audit.list({ limit: 50 })
    await opened.close()
    return records.filter(({ event }) => events.includes(event))
  }
  return { folder, run, show, listAudit, orders }
}

t.test('confirms a transfer, which grants the plan and sends the receipt', async (t) => {
  const { folder, run, show, listAudit, orders } = await createOperator(t, ['pro/month'])
  const number = orders[0]?.number ?? ''
  t.match(await run('order', 'list'), { code: 0, stdout: new RegExp(`${number} +sent +pro@1 for a month`) })
  t.match(await run('order', 'explain', number), { stdout: /Waits for the transfer of 30\.00 EUR/ })
  for (const [words, sentence] of [
    [['confirm', number, '--received', '30'], /--received must be an amount with its currency/],
    [['confirm', '2026-999999', '--received', '30EUR'], /There is no order/],
    [['refund', number, '--reason', 'none'], /is not paid/],
    [['list', '--state', 'open'], /--state must be one of/],
  ] as const)
    t.match(await run('order', ...words), { code: 1, stderr: sentence }, words.join(' '))

  t.match(await run('order', 'confirm', number, '--received', '29.99EUR'), {
    code: 0,
    stdout: /paid \(amount\)[^]*30\.00 EUR is due[^]*order refund/,
  })
  t.match(await run('doctor'), { stdout: /orders +1 order is paid and not granted/ })
  const confirmed = await run('order', 'confirm', number, '--received', '30.00 EUR', '--reference', 'statement 12')
  t.match(confirmed, { code: 0, stdout: /: granted, 30\.00 EUR due, 30\.00 EUR paid/ })
  t.match(confirmed.stdout, /An email was sent to member1@example\.org/)
  t.ok(existsSync(join(folder, 'outbox')) && readdirSync(join(folder, 'outbox')).length > 0)
  t.match(await run('order', 'confirm', number, '--received', '30EUR'), { code: 1, stderr: /is granted already/ })
  t.match(await show('order', 'show', number), { state: 'granted', steps: { length: 6 }, reference: number })
  const written = await listAudit('order_paid', 'order_not_granted', 'order_granted')
  t.equal(written.length, 4)
  for (const { event, actor } of written) t.match(actor, { kind: 'command', system_user: /./ }, `${event} names who confirmed`)
  t.match(await run('account', 'show', 'member1@example.org'), { stdout: /pro/ })
  const part = await run('order', 'refund', number, '--reason', 'asked', '--amount', '10EUR')
  t.match(part, { code: 0, stdout: /10\.00 EUR of order .* The plan of the order has ended\./ })
  t.match(await run('order', 'refund', number, '--reason', 'the rest'), { code: 0, stdout: /20\.00 EUR of order/ })
  t.match(await show('ledger', 'verify'), { ok: true })
})

t.test('refunds of transfers are recorded, and the operator is told to send the money', async (t) => {
  const { run, show, listAudit, orders } = await createOperator(t, ['small', 'small', 'small'])
  const [one, other, third] = orders.map(({ number }) => number)
  await run('order', 'confirm', one ?? '', '--received', '10EUR')
  t.match(await run('order', 'refund', one ?? '', '--reason', 'asked', '--amount', '11EUR'), {
    code: 1,
    stderr: /At most 10\.00 EUR/,
  })
  t.match(await run('order', 'refund', one ?? '', '--reason', 'asked', '--amount', '4USD'), { code: 1, stderr: /paid in EUR/ })
  t.match(await run('order', 'refund', one ?? '', '--reason', 'asked'), {
    code: 0,
    stdout: /send the money to the member yourself/,
  })
  t.match(await show('order', 'show', one ?? ''), { state: 'refunded', refunded: 1000 })
  await run('order', 'confirm', third ?? '', '--received', '12USD')
  const refunded = await run('order', 'refund', third ?? '', '--reason', 'another currency')
  t.match(refunded, { code: 0, stdout: /^12\.00 USD of order/ })
  t.match(await run('order', 'show', third ?? ''), { stdout: /12\.00 USD paid, 12\.00 USD refunded/ })
  t.match(await run('order', 'cancel', other ?? ''), { code: 0, stdout: /: cancelled, / })
  t.match(await listAudit('order_closed'), [{ actor: { kind: 'command', system_user: /./ } }], 'it names who cancelled')
  t.match(await run('order', 'cancel', one ?? ''), { code: 1, stderr: /is refunded, so it cannot be cancelled/ })
  t.match(await show('ledger', 'verify'), { ok: true })
})

t.test('a check names the operator in what follows from it', async (t) => {
  const monthAgo = Date.now() - 30 * 86_400_000
  const { run, listAudit, orders } = await createOperator(t, ['small'], monthAgo)
  t.match(await run('order', 'check', orders[0]?.number ?? ''), { code: 0, stdout: /: expired, / })
  const written = await listAudit('order_closed')
  t.match(written, [{ actor: { kind: 'command', system_user: /./ }, detail: { step: 'expired', by: 'operator' } }])
})
