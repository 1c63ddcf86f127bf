/** Which settings of selling are refused, and with which sentence. */
import t from 'tap'
import { checkConfig } from '../../../../src/config/config.ts'
import { collectSecrets } from '../../../../src/config/secrets.ts'
import shipped from '../../../../gateway.config.ts'

const listen = { host: '127.0.0.1', port: 8787 }
const stripe = { secretKey: 'sk_test_51secretsecret', webhookSecret: 'whsec_secretsecret' }
const manual = { instructions: { en: 'Transfer {amount} with the text {reference}.' } }
const pack = { id: 'small', credits: 500_000, pool: 'premium' as const, prices: [{ amount: 5, currency: 'EUR' }] }

interface Changes {
  readonly payments?: object
  readonly packs?: readonly object[]
  readonly listen?: object
  readonly plans?: object
}

const refused: readonly (readonly [what: string, changes: Changes, sentence: RegExp])[] = [
  ['packs without a provider', { packs: [pack] }, /packs could never be bought: name a provider/],
  ['two packs of one id', { packs: [pack, pack], payments: { demo: true } }, /two have the id 'small'/],
  ['a pack for nothing', { packs: [{ ...pack, prices: [{ amount: 0 }] }] }, /packs\.0\.prices\.0\.amount/],
  [
    'a pack with two prices in one currency',
    { packs: [{ ...pack, prices: [{ amount: 5 }, { amount: 6, currency: 'usd' }] }], payments: { demo: true } },
    /packs\.small\.prices: two prices have the same currency/,
  ],
  [
    'a price with more digits than its currency',
    { packs: [{ ...pack, prices: [{ amount: 9.999, currency: 'EUR' }] }], payments: { demo: true } },
    /packs\.small\.prices: 9\.999 EUR is no amount that can be paid/,
  ],
  [
    'a plan with a fraction of a yen',
    {
      plans: { ...shipped.plans, pro: { ...shipped.plans['pro'], prices: [{ amount: 900.5, currency: 'JPY' }] } },
      payments: { providers: { manual } },
    },
    /plans\.pro\.prices: 900\.5 JPY/,
  ],
  ['no key', { payments: { providers: { stripe: { ...stripe, secretKey: null } } } }, /stripe\.secretKey is missing: copy/],
  [
    'the publishable key',
    { payments: { providers: { stripe: { ...stripe, secretKey: 'pk_live_51secretsecret' } } } },
    /must begin with sk_ or rk_; this is the publishable key/,
  ],
  [
    'no secret of the endpoint',
    { payments: { providers: { stripe: { ...stripe, webhookSecret: null } } } },
    /webhookSecret is missing: make an endpoint/,
  ],
  [
    'a key in place of the secret of the endpoint',
    { payments: { providers: { stripe: { ...stripe, webhookSecret: 'sk_test_51secretsecret' } } } },
    /webhookSecret must begin with whsec_/,
  ],
  [
    'a stand-in in the clear',
    { payments: { providers: { stripe: { ...stripe, endpoint: 'http://stripe.example.com' } } } },
    /endpoint: plain http would send the secret key/,
  ],
  [
    'instructions without the reference',
    { payments: { providers: { manual: { instructions: { en: 'Pay us.' } } } } },
    /instructions\.en must have \{reference\}/,
  ],
  [
    'instructions in Chinese without the reference',
    { payments: { providers: { manual: { instructions: { ...manual.instructions, zh: '请转账' } } } } },
    /instructions\.zh must have \{reference\}/,
  ],
  [
    'an unknown place in instructions',
    { payments: { providers: { manual: { instructions: { en: '{reference} {iban}' } } } } },
    /there is no \{iban\}; there are \{reference\} and \{amount\}/,
  ],
  [
    "the program's own name",
    { payments: { providers: { demo: { module: './package.json' } } } },
    /demo: this name is the program's own/,
  ],
  ['a name with a slash', { payments: { providers: { 'a/b': { module: './package.json' } } } }, /a name has small letters/],
  ['a missing module', { payments: { providers: { other: { module: './missing.ts' } } } }, /other\.module: there is no file/],
  ['an unknown key', { payments: { providers: { other: { modul: 'x' } } } }, /payments\.providers\.other/],
  ['another word than demo', { payments: { demo: 'true' } }, /payments\.demo: must be true, false or 'demo'/],
  [
    'the demonstration for other machines',
    { payments: { demo: true }, listen: { ...listen, host: '0.0.0.0' } },
    /payments\.demo: this server listens on 0\.0\.0\.0/,
  ],
  [
    'the demonstration at a public address',
    { payments: { demo: true }, listen: { ...listen, siteUrl: 'https://models.example.com' } },
    /payments\.demo: this server is reached at https:\/\/models\.example\.com/,
  ],
  [
    'the demonstration at a public address of the API',
    { payments: { demo: true }, listen: { ...listen, baseUrl: 'https://api.example.com' } },
    /payments\.demo: this server is reached at https:\/\/api\.example\.com/,
  ],
  [
    'the demonstration behind a proxy',
    { payments: { demo: true }, listen: { ...listen, trustedProxies: ['127.0.0.1'] } },
    /payments\.demo: listen\.trustedProxies names a proxy/,
  ],
]

for (const [what, changes, sentence] of refused)
  t.test(`refuses ${what}`, async (t) => {
    const message = (() => {
      try {
        checkConfig({ ...shipped, payments: {}, listen, ...changes })
        return ''
      } catch (error) {
        return (error as Error).message
      }
    })()
    t.match(message, sentence)
    t.notMatch(message, /secretsecret/, 'no secret is in the sentence')
  })

t.test('accepts a shop with all that it can have', async (t) => {
  const { payments, packs } = checkConfig({
    ...shipped,
    listen,
    packs: [pack],
    payments: {
      providers: { stripe, manual, other: { module: './package.json', options: { key: 'epay-secret-key' } } },
      demo: 'demo',
      legalLines: ['Example GmbH'],
      taxText: { en: 'includes 19 % VAT', zh: '含增值税' },
    },
  })
  t.same(Object.keys(payments.providers), ['stripe', 'manual', 'other'])
  t.equal(payments.demo, true)
  t.equal(packs[0]?.days, null)
})

t.test('the shipped configuration sells nothing', async (t) => {
  const { payments, packs } = checkConfig({ ...shipped, listen })
  t.same([payments.providers, payments.demo, packs], [{}, false, []])
})

t.test('a currency is written in capitals wherever it stands', async (t) => {
  const { plans, packs } = checkConfig({
    ...shipped,
    listen,
    plans: { ...shipped.plans, pro: { ...shipped.plans['pro'], prices: [{ amount: 900, currency: 'jpy' }] } },
    packs: [{ ...pack, prices: [{ amount: 5, currency: 'kwd' }] }],
    payments: { providers: { manual } },
  } as never)
  t.equal(plans['pro']?.prices[0]?.currency, 'JPY')
  t.equal(packs[0]?.prices[0]?.currency, 'KWD')
})

t.test('the secrets of all providers are masked, those of modules by the names of their options', async (t) => {
  const options = { merchant: 'merchant-1001', signing: { key: 'epay-secret-key' } }
  const secrets = collectSecrets(
    checkConfig({ ...shipped, listen, payments: { providers: { stripe, other: { module: './package.json', options } } } }),
  )
  t.strictSame(
    [stripe.secretKey, stripe.webhookSecret, 'epay-secret-key', 'merchant-1001'].map((secret) => secrets.includes(secret)),
    [true, true, true, false],
  )
})
