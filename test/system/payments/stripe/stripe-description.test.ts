/**
 * Every request of the provider against Stripe's own description of its API: `stripe-mock` answers 400 for a parameter that is none. Its
 * newest release knows the API of 2026-08-26, two months before the version that the provider pins.
 */
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import t from 'tap'
import type { Test } from 'tap'
import { requireGoProgram } from '../../../support/go-program.ts'
import { createTemporaryFolder } from '../../../support/temporary-folder.ts'
import { createCheckout, dayMs, openStripe } from './stripe-test-provider.ts'

/** The address of a running stripe-mock. */
async function startStripeMock(t: Test): Promise<string | undefined> {
  const program = requireGoProgram(t, 'stripe-mock')
  if (program === undefined) return undefined
  const socket = join(createTemporaryFolder(t), 'https.sock')
  const child = spawn(program, ['-http-addr', '127.0.0.1:0', '-https-unix', socket], { stdio: ['ignore', 'pipe', 'ignore'] })
  t.teardown(() => child.kill('SIGKILL'))
  for await (const line of createInterface({ input: child.stdout })) {
    const address = /for HTTP at address: (\S+)/.exec(line)?.[1]
    if (address !== undefined) return `http://${address}`
  }
  throw new Error('stripe-mock ended before it listened')
}

const to = { title: 'Max', money: { amount: 1900, currency: 'EUR' }, interval: 'month' } as const

/** Makes each request that the provider can make. */
async function useEverything({ provider, account, clock }: Awaited<ReturnType<typeof openStripe>>): Promise<void> {
  const once = await provider.create(createCheckout({ order: 'ord_once' }))
  account.pay(once.reference)
  const { payment } = await provider.query(once)
  const ref = { order: 'ord_once', reference: once.reference, payment }
  account.dispute(payment ?? '')
  await provider.query(once)
  await provider.refund(ref, { amount: 100, currency: 'EUR' }, 'ref_1')
  const closed = await provider.create(
    createCheckout({ order: 'ord_closed', account: { id: 'acc_1', email: null }, language: 'zh' }),
  )
  await provider.cancel(closed)
  const monthly = await provider.create(createCheckout({ order: 'ord_monthly', renews: 'month' }))
  account.pay(monthly.reference)
  const subscription = (await provider.query(monthly)).subscription ?? ''
  const { subscriptions } = provider
  clock.advance(dayMs)
  const due = await subscriptions.previewChange(subscription, to)
  account.acceptsCharges = 'asks'
  const asked = await subscriptions.change(subscription, to, {
    order: 'ord_change',
    due,
    orderedAt: clock.now(),
    expiresAt: clock.now() + dayMs,
  })
  await provider.query(asked)
  await provider.cancel(asked)
  await subscriptions.changeAtRenewal(subscription, to)
  await subscriptions.query(subscription)
  await subscriptions.openPortal(subscription, 'https://models.example.com/account')
  await subscriptions.cancelAtEnd(subscription)
  await subscriptions.cancelNow(subscription)
  await provider.diagnose.listEndpoints()
}

t.test("each request is one of Stripe's own description", async (t) => {
  const address = await startStripeMock(t)
  if (address === undefined) return
  const stripe = await openStripe(t, { automaticTax: true })
  await useEverything(stripe)
  const seen = new Set<string>()
  for (const { method, path, target, text, headers } of stripe.server.requests) {
    const response = await fetch(`${address}${target}`, {
      method,
      headers: { authorization: String(headers.authorization), 'content-type': 'application/x-www-form-urlencoded' },
      ...(method === 'POST' ? { body: text } : {}),
    })
    t.equal(response.status, 200, `${method} ${path} ${response.ok ? '' : await response.text()}`)
    await response.body?.cancel()
    seen.add(`${method} ${path.replaceAll(/_\d{6}|_test_\d{6}/g, '')}`)
  }
  t.equal(seen.size, 17, [...seen].join('\n'))
  const wrong = await fetch(`${address}/v1/checkout/sessions`, {
    method: 'POST',
    headers: { authorization: 'Bearer sk_test_51standin', 'content-type': 'application/x-www-form-urlencoded' },
    body: 'mode=payment&no_such_parameter=1',
  })
  t.equal(wrong.status, 400, 'it refuses what is not in the description')
  await wrong.body?.cancel()
})
