/** `/payments/demo/{order}`: where members pay with the provider for demonstrations. It stands for a page of another site. */
import { formatPrice } from '../../domain/billing/money.ts'
import { GatewayError } from '../../errors.ts'
import { DemoProvider } from '../../payments/demo/demo-provider.ts'
import type { DemoChoice, DemoPayment } from '../../payments/demo/demo-payments.ts'
import { createCardView } from '../components/card-page.ts'
import { PageForm } from '../components/forms/form.ts'
import { renderFacts } from '../components/list.ts'
import { html } from '../html.ts'
import type { Html } from '../html.ts'
import type { PageAction, PageActions, PageContext, View } from '../page.ts'

const choices = ['pay', 'late', 'lose', 'fail'] as const

export const demoPaymentActions: PageActions<PageContext> = Object.fromEntries(
  choices.map((choice): [string, PageAction<PageContext>] => [
    choice,
    async (context) => {
      const { provider, payment } = findPayment(context)
      await provider.choose(payment.order, choice)
      // After a lost notification the shop is to find out by itself, so nothing leads back to it here.
      if (choice === 'lose') return { path: context.path }
      return { path: toPath(choice === 'fail' ? payment.cancelUrl : payment.returnUrl) }
    },
  ]),
)

export function createDemoPaymentView(context: PageContext): View {
  const { t, language, services } = context
  const { payment } = findPayment(context)
  const { title, money, order, choice, expiresAt, returnUrl } = payment
  const facts = renderFacts([
    [t.demoPayment.buys, title],
    [t.demoPayment.amount, html`<strong>${formatPrice(money, language)}</strong>`],
    [t.demoPayment.order, order],
  ])
  const isOpen = choice === null && services.clock.now() < expiresAt
  return createCardView({
    title: t.demoPayment.title,
    look: 'device',
    content: html`<p class="lead">${t.demoPayment.lead}</p>
      ${facts} ${isOpen ? renderChoices(context) : renderResult(context, choice, returnUrl)}`,
  })
}

function renderChoices(context: PageContext): Html {
  const { demoPayment: texts } = context.t
  return html`${choices.map((choice) =>
    new PageForm(context, choice).render({
      content: html`<div class="form-end">
        <button class="button ${choice === 'pay' ? '' : 'quiet'} block">${texts[choice]}</button>
      </div>`,
    }),
  )}`
}

function renderResult({ t }: PageContext, choice: DemoChoice | null, returnUrl: string): Html {
  const { demoPayment: texts } = t
  const results = {
    pay: texts.paid,
    late: texts.isLate,
    lose: texts.lost,
    fail: texts.failed,
    cancel: texts.closed,
    none: texts.expired,
  } as const
  return html`<p role="status">${results[choice ?? 'none']}</p>
    <div class="form-end"><a class="button block" href="${toPath(returnUrl)}">${texts.back}</a></div>`
}

/** @throws GatewayError where no demonstration is offered, or it has no such payment */
function findPayment({ services, path }: PageContext): { readonly provider: DemoProvider; readonly payment: DemoPayment } {
  const provider = services.paymentProviders.get('demo')
  const payment = provider instanceof DemoProvider ? provider.find(path.split('/').at(-1) ?? '') : undefined
  if (!(provider instanceof DemoProvider) || payment === undefined) throw new GatewayError('not_found')
  return { provider, payment }
}

/** Both pages are of this site. */
function toPath(url: string): string {
  const { pathname, search } = new URL(url)
  return pathname + search
}
