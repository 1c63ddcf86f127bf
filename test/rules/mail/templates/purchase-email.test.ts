/** Emails about purchases state the amount, the item and the next step, in both languages. */
import t from 'tap'
import type { PurchaseEmail } from '../../../../src/domain/member-mailer.ts'
import { renderPurchaseEmail } from '../../../../src/mail/templates/purchase-email.ts'
import { createPlan } from '../../../support/gateway/test-plans.ts'
import { createGrantedOrder, orderDay } from '../../../support/orders/test-order.ts'

const sender = { name: 'svc', site: 'https://svc.example' }
const seller = {
  legalLines: ['Example GmbH', 'Berlin <HRB 1>'],
  taxText: { en: 'Includes 19 % VAT.', zh: '含 19% 增值税。' },
}
const han = /\p{Script=Han}/u
const render = (email: PurchaseEmail, language: 'en' | 'zh') =>
  renderPurchaseEmail(sender, seller, email, { language, timeZone: 'Europe/Berlin' })

const order = createGrantedOrder({ credit: 200, due: { amount: 1000, currency: 'EUR' }, paid: { amount: 1000, currency: 'EUR' } })
const about = { plan: 'Pro', planId: 'pro', endsAt: orderDay }
const oldPlan = createPlan('pro', 1_000)
const newPlan = { ...createPlan('pro', 900), rpm: oldPlan.rpm + 5 }

t.test('each email is whole in each language, as text and as HTML', async (t) => {
  const cases: readonly (readonly [PurchaseEmail, RegExp, readonly RegExp[]])[] = [
    [
      { kind: 'receipt', order },
      /receipt 2026-000123|收据 2026-000123/,
      [/€12\.00/, /−€2\.00/, /€10\.00/, /Example GmbH/, /19 ?%/, /orders\/ord_0{25}1\/receipt/],
    ],
    [{ kind: 'refunded', order: { ...order, refunded: 500 } }, /€5\.00/, [/2026-000123/, /orders\/ord_0{25}1$/m]],
    [
      { kind: 'renewal', ...about, renews: true, price: order.price, cancelToken: 'acc_1.x' },
      /Pro/,
      [/€12\.00/, /24 November 2026|2026年11月24日/, /cancel-renewal\?token=acc_1\.x/],
    ],
    [{ kind: 'renewal', ...about, renews: false, price: order.price, cancelToken: null }, /Pro/, [/\/plans\?plan=pro/]],
    [
      {
        kind: 'terms',
        ...about,
        from: { id: 'pro@1', version: 1, plan: oldPlan },
        to: { id: 'pro@2', version: 2, plan: newPlan },
        interval: 'month',
        price: order.price,
        newPrice: { amount: 1500, currency: 'EUR' },
        cancelToken: 'acc_1.x',
      },
      /Pro/,
      [
        /€12\.00.* → .*€15\.00/,
        /: 1,000 → 900/,
        new RegExp(`: ${oldPlan.rpm} → ${newPlan.rpm}`),
        /cancel-renewal\?token=acc_1\.x/,
      ],
    ],
    [{ kind: 'payment_failed', ...about }, /Pro/, [/\/account\/orders/]],
    [{ kind: 'ended', ...about, next: 'Free' }, /Pro/, [/Free/, /\/plans\?plan=pro/]],
  ]
  for (const [email, subject, parts] of cases) {
    const [english, chinese] = [render(email, 'en'), render(email, 'zh')]
    for (const each of [english, chinese]) {
      t.match(each.subject, subject, email.kind)
      for (const part of parts) t.match(each.text, part, email.kind)
      t.notMatch(each.text + each.html, /undefined|NaN|\[object/)
    }
    t.notMatch(english.text + english.html, han, email.kind)
    t.match(chinese.text, han, email.kind)
  }
})

t.test('an operator’s lines are text in HTML, and without them the email has none', async (t) => {
  const { html } = render({ kind: 'receipt', order }, 'en')
  t.match(html, 'Berlin &lt;HRB 1&gt;')
  const plain = renderPurchaseEmail(
    sender,
    { legalLines: [], taxText: null },
    { kind: 'receipt', order: createGrantedOrder() },
    { language: 'en', timeZone: null },
  )
  t.notMatch(plain.text, /VAT|GmbH|Unused/)
})
