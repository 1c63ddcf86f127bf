/** Which providers a configuration opens, and what is said about one that cannot be used. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { Test } from 'tap'
import { ConfigError, checkConfig } from '../../../src/config/config.ts'
import { openPaymentProviders } from '../../../src/payments/open-payment-providers.ts'
import { DataFolder } from '../../../src/system/data-folder/data-folder.ts'
import { SimulatedClock } from '../../support/simulated-clock.ts'
import { createTemporaryFolder } from '../../support/temporary-folder.ts'
import shipped from '../../../gateway.config.ts'

const listen = { host: '127.0.0.1', port: 8787 }
const manual = { instructions: { en: 'Text: {reference}' } }
const stripe = { secretKey: 'sk_test_1', webhookSecret: 'whsec_1' }

const goodModule = `export function createPaymentProvider(options, { name, clock }) {
  return {
    name,
    label: { en: options.label, zh: options.label },
    isConfirmedByHand: false,
    canRefund: false,
    create: async ({ order }) => ({ reference: order, url: 'https://pay.example.com/' + clock.now(), instructions: null }),
    query: async () => options.answer,
    cancel: async () => undefined,
    refund: async () => { throw new Error('no') },
    readNotification: async () => ({ id: null, hints: [], answer: { status: 200, body: 'success' } }),
  }
}`

function open(t: Test, payments: object) {
  const folder = createTemporaryFolder(t)
  const config = checkConfig({ ...shipped, listen, payments })
  return openPaymentProviders(config, {
    clock: new SimulatedClock(),
    secret: Buffer.alloc(32, 1),
    folder: new DataFolder(folder),
  })
}

function writeModule(t: Test, text: string): string {
  const file = join(createTemporaryFolder(t), 'provider.mjs')
  writeFileSync(file, text)
  return file
}

t.test('nothing is sold by default', async (t) => {
  t.equal((await open(t, {})).size, 0)
})

t.test('Stripe comes first, then payment by hand, modules, and the demonstration', async (t) => {
  const module = writeModule(t, goodModule)
  const providers = await open(t, { demo: true, providers: { other: { module, options: { label: 'Other' } }, manual, stripe } })
  t.same([...providers.keys()], ['stripe', 'manual', 'other', 'demo'])
  t.equal(providers.get('other')?.label.en, 'Other')
  t.equal(providers.get('stripe')?.subscriptions !== undefined, true)
  t.equal(providers.get('manual')?.subscriptions, undefined)
})

t.test('a module that cannot be used is refused with the setting that names it', async (t) => {
  for (const [what, text, sentence] of [
    ['has an error', 'export const x = ;', /other\.module: .* cannot be used/],
    ['exports nothing', 'export const x = 1', /exports no function createPaymentProvider/],
    [
      'refuses its options',
      "export function createPaymentProvider() { throw new Error('options.key is missing') }",
      /options\.key is missing/,
    ],
    ['returns no provider', 'export function createPaymentProvider() { return { name: "other" } }', /returned is no provider/],
    ['has another name', goodModule.replace('    name,', "    name: 'mine',"), /returned is no provider; it needs its name/],
  ] as const) {
    const module = writeModule(t, text)
    const error = await open(t, { providers: { other: { module, options: { label: 'Other' } } } }).catch(
      (thrown: unknown) => thrown,
    )
    t.ok(error instanceof ConfigError, what)
    t.match((error as Error).message, sentence, what)
  }
})

t.test('an answer of a module that is no answer is an error of the port, and never an amount', async (t) => {
  const unpaid = { state: 'open', money: null, payment: null, refunded: 0, dispute: 'none', subscription: null }
  const paid = { ...unpaid, state: 'paid', payment: 'p1' }
  for (const [what, answer, isGood] of [
    ['an open payment', unpaid, true],
    ['a paid one', { ...paid, money: { amount: 1200, currency: 'EUR' } }, true],
    ['nothing', null, false],
    ['an amount as text', { ...paid, money: { amount: '1200', currency: 'EUR' } }, false],
    ['a fraction of a cent', { ...paid, money: { amount: 12.5, currency: 'EUR' } }, false],
    ['a negative amount', { ...paid, money: { amount: -1, currency: 'EUR' } }, false],
    ['an endless amount', { ...paid, money: { amount: 1e15, currency: 'EUR' } }, false],
    ['a currency in small letters', { ...paid, money: { amount: 1200, currency: 'eur' } }, false],
    ['an unknown state', { ...unpaid, state: 'done' }, false],
  ] as const) {
    const module = writeModule(t, goodModule)
    const providers = await open(t, { providers: { other: { module, options: { label: 'Other', answer } } } })
    const facts = await providers
      .get('other')
      ?.query({ order: 'o', reference: 'r', payment: null })
      .catch((error: unknown) => error)
    if (isGood) t.same(facts, answer, what)
    else t.match(facts, { name: 'PaymentProviderError', reason: 'unavailable', setting: 'payments.providers.other' }, what)
  }
})

t.test('a provider that does not answer is given up', async (t) => {
  const module = writeModule(t, goodModule.replace('async () => options.answer', '() => new Promise(() => {})'))
  const folder = createTemporaryFolder(t)
  const clock = new SimulatedClock()
  const config = checkConfig({ ...shipped, listen, payments: { providers: { other: { module, options: { label: 'Other' } } } } })
  const providers = await openPaymentProviders(config, { clock, secret: Buffer.alloc(32, 1), folder: new DataFolder(folder) })
  const provider = providers.get('other')
  if (provider === undefined) throw new Error('it was not opened')
  const asked = provider.query({ order: 'o', reference: 'r', payment: null }).catch((error: unknown) => error)
  clock.advance(30_001)
  t.match(await asked, { name: 'PaymentProviderError', reason: 'unavailable', message: /no answer in time/ })
})

t.test('a price that Stripe cannot charge is refused at the start', async (t) => {
  const folder = new DataFolder(createTemporaryFolder(t))
  const deps = { clock: new SimulatedClock(), secret: Buffer.alloc(32, 1), folder }
  const sell = (amount: number) =>
    openPaymentProviders(
      checkConfig({
        ...shipped,
        listen,
        packs: [{ id: 'small', credits: 1, pool: 'fast', prices: [{ amount, currency: 'KWD' }] }],
        payments: { providers: { stripe } },
      }),
      deps,
    )
  t.ok((await sell(1.23)).has('stripe'))
  await t.rejects(sell(1.234), {
    name: 'ConfigError',
    message: /stripe: Stripe charges KWD in steps of 0\.010 KWD, not 1\.234 KWD; round/,
  })
})
