/** Emails about purchases: the receipt, a refund, a renewal, new terms, a payment that failed, the end of a plan. */
import { formatPrice } from '../../domain/billing/money.ts'
import type { Order } from '../../domain/billing/orders/order.ts'
import { formatOrderTitle } from '../../domain/billing/orders/order-title.ts'
import { windows } from '../../domain/billing/catalog/plan.ts'
import type { Plan } from '../../domain/billing/catalog/plan.ts'
import type { Reader } from '../../domain/identity/reader.ts'
import type { PurchaseEmail } from '../../domain/member-mailer.ts'
import type { EmailBlock } from './email-layout.ts'
import { formatEmailTime, note, renderEmail, text } from './email-templates.ts'
import type { EmailContent, SenderIdentity } from './email-templates.ts'

/** What receipts state about the operator. */
export interface Seller {
  readonly legalLines: readonly string[]
  readonly taxText: { readonly en: string; readonly zh: string } | null
}

type Language = 'en' | 'zh'
type Drafts = Parameters<typeof renderEmail>[2]
type EmailOf<Kind extends PurchaseEmail['kind']> = Extract<PurchaseEmail, { readonly kind: Kind }>

export function renderPurchaseEmail(sender: SenderIdentity, seller: Seller, email: PurchaseEmail, reader: Reader): EmailContent {
  return renderEmail('purchase', { name: sender.name, reader }, draft(sender, seller, email, reader))
}

function draft(sender: SenderIdentity, seller: Seller, email: PurchaseEmail, reader: Reader): Drafts {
  switch (email.kind) {
    case 'receipt':
      return draftReceipt(sender, seller, email.order, reader)
    case 'refunded':
      return draftRefund(sender, email.order)
    case 'renewal':
      return draftRenewal(sender, email, reader)
    case 'terms':
      return draftTerms(sender, email, reader)
    case 'payment_failed':
      return draftFailure(sender, email, reader)
    case 'ended':
      return draftEnd(sender, email)
  }
}

function draftReceipt({ name, site }: SenderIdentity, { legalLines, taxText }: Seller, order: Order, reader: Reader): Drafts {
  const { number, id, item, price, credit, due, paid, paidAt, buyer } = order
  const lines = (language: Language, words: { readonly credit: string; readonly total: string }): string =>
    [
      `${formatOrderTitle(item, language)}: ${formatPrice(price, language)}`,
      ...(credit === 0 ? [] : [`${words.credit}: −${formatPrice({ amount: credit, currency: price.currency }, language)}`]),
      `${words.total}: ${formatPrice(paid ?? due, language)}`,
    ].join('\n')
  const seller = legalLines.length === 0 ? [] : [note(legalLines.join('\n'))]
  const soldTo = (name: string): EmailBlock[] => (buyer.length === 0 ? [] : [text(`${name}\n${buyer.join('\n')}`)])
  const tax = (language: Language): EmailBlock[] => (taxText === null ? [] : [note(taxText[language])])
  const url = `${site}/account/orders/${id}/receipt`
  const at = (language: Language): string => formatEmailTime(paidAt ?? order.createdAt, language, reader)
  return {
    en: {
      subject: `${name}: receipt ${number}`,
      blocks: [
        text(`Thank you. Your payment arrived on ${at('en')}, and what you bought is in your account.`),
        text(lines('en', { credit: 'Unused days of your former plan', total: 'Paid' })),
        ...soldTo('Sold to:'),
        ...tax('en'),
        ...seller,
        link('Receipt to print', url),
      ],
    },
    zh: {
      subject: `${name}：收据 ${number}`,
      blocks: [
        text(`谢谢。你的付款已于 ${at('zh')} 到账，购买的内容已加入账户。`),
        text(lines('zh', { credit: '原套餐未使用天数抵扣', total: '实付' })),
        ...soldTo('买方：'),
        ...tax('zh'),
        ...seller,
        link('查看并打印收据', url),
      ],
    },
  }
}

function draftRefund({ name, site }: SenderIdentity, { number, id, item, refunded, paid, due }: Order): Drafts {
  const money = { amount: refunded, currency: (paid ?? due).currency }
  const url = `${site}/account/orders/${id}`
  return {
    en: {
      subject: `${name}: ${formatPrice(money, 'en')} were refunded`,
      blocks: [
        text(
          `${formatPrice(money, 'en')} of the order ${number} (${formatOrderTitle(item, 'en')}) went back the way it was paid.`,
        ),
        text('Banks take up to ten days to show it.'),
        link('See the order', url),
      ],
    },
    zh: {
      subject: `${name}：已退款 ${formatPrice(money, 'zh')}`,
      blocks: [
        text(`订单 ${number}（${formatOrderTitle(item, 'zh')}）已按原付款方式退回 ${formatPrice(money, 'zh')}。`),
        text('银行最多需要十天才会显示。'),
        link('查看订单', url),
      ],
    },
  }
}

function draftRenewal({ name, site }: SenderIdentity, email: EmailOf<'renewal'>, reader: Reader): Drafts {
  const { plan, planId, endsAt, renews, price, cancelToken } = email
  const [english, chinese] = [formatEmailTime(endsAt, 'en', reader), formatEmailTime(endsAt, 'zh', reader)]
  if (!renews || cancelToken === null) {
    const url = `${site}/plans?plan=${encodeURIComponent(planId)}`
    return {
      en: {
        subject: `${name}: ${plan} ends soon`,
        blocks: [
          text(`Your plan ${plan} ends on ${english}. It does not renew by itself, and nothing is charged.`),
          text('To keep it without a gap, buy it again before then: its end moves, and nothing that you have is lost.'),
          link(`Renew ${plan}`, url),
        ],
      },
      zh: {
        subject: `${name}：${plan} 即将到期`,
        blocks: [
          text(`你的套餐 ${plan} 将于 ${chinese} 结束。它不会自动续费，也不会扣款。`),
          text('如需不间断使用，请在此之前再次购买：到期时间会顺延，不会有损失。'),
          link(`续费 ${plan}`, url),
        ],
      },
    }
  }
  const cancelUrl = `${site}/cancel-renewal?token=${cancelToken}`
  return {
    en: {
      subject: `${name}: ${plan} renews soon`,
      blocks: [
        text(`Your plan ${plan} renews on ${english}, and ${formatPrice(price, 'en')} are charged then.`),
        text('There is nothing to do to keep it.'),
        link('Cancel the renewal', cancelUrl),
        note('The plan then stays until that day, and nothing more is charged.'),
      ],
    },
    zh: {
      subject: `${name}：${plan} 即将续费`,
      blocks: [
        text(`你的套餐 ${plan} 将于 ${chinese} 续费，届时扣款 ${formatPrice(price, 'zh')}。`),
        text('如需保留，无需任何操作。'),
        link('取消续费', cancelUrl),
        note('取消后套餐可使用至该日，之后不再扣款。'),
      ],
    },
  }
}

function draftTerms({ name, site }: SenderIdentity, email: EmailOf<'terms'>, reader: Reader): Drafts {
  const { plan, endsAt, from, to, interval, price, newPrice, cancelToken } = email
  const cancelUrl = `${site}/cancel-renewal?token=${cancelToken}`
  const each = { en: interval === 'month' ? 'a month' : 'a year', zh: interval === 'month' ? '每月' : '每年' }
  const changes = (language: Language): EmailBlock => {
    const formatPriced = (money: typeof price): string =>
      language === 'zh' ? `${each.zh} ${formatPrice(money, 'zh')}` : `${formatPrice(money, 'en')} ${each.en}`
    const priceLine =
      price.amount === newPrice.amount && price.currency === newPrice.currency
        ? []
        : [`${language === 'zh' ? '价格' : 'Price'}: ${formatPriced(price)} → ${formatPriced(newPrice)}`]
    return text([...priceLine, ...listChanges(from.plan, to.plan, language)].join('\n'))
  }
  const [english, chinese] = [formatEmailTime(endsAt, 'en', reader), formatEmailTime(endsAt, 'zh', reader)]
  return {
    en: {
      subject: `${name}: ${plan} changes with your next renewal`,
      blocks: [
        text(`From ${english} on, your plan ${plan} has other terms. Until then nothing changes. What changes:`),
        changes('en'),
        text('To keep the plan, there is nothing to do. If you do not want it like this, cancel the renewal by one click.'),
        link('Cancel the renewal', cancelUrl),
        note('The plan then stays as it is until that day, and nothing more is charged.'),
      ],
    },
    zh: {
      subject: `${name}：${plan} 将在下次续费时变更`,
      blocks: [
        text(`从 ${chinese} 起，你的套餐 ${plan} 的内容将会变更，在此之前没有变化。变更如下：`),
        changes('zh'),
        text('如需保留套餐，无需任何操作。如不接受变更，可一键取消续费。'),
        link('取消续费', cancelUrl),
        note('取消后套餐可按原内容使用至该日，之后不再扣款。'),
      ],
    },
  }
}

/** One line for each figure that differs. */
function listChanges(from: Plan, to: Plan, language: Language): readonly string[] {
  const count = (value: number): string => new Intl.NumberFormat(language === 'zh' ? 'zh-CN' : 'en-US').format(value)
  const line = (name: string, before: number, after: number): string[] =>
    before === after ? [] : [`${name}: ${count(before)} → ${count(after)}`]
  const countModels = (plan: Plan): string =>
    plan.models === 'all' ? (language === 'zh' ? '全部' : 'all') : count(plan.models.length)
  const [modelsBefore, modelsAfter] = [countModels(from), countModels(to)]
  const [rpm, atOnce, models] =
    language === 'zh' ? ['每分钟请求数', '同时请求数', '模型'] : ['Requests a minute', 'Requests at the same time', 'Models']
  return [
    ...(['fast', 'premium'] as const).flatMap((pool) =>
      windows.flatMap((window) => line(creditNames[pool][window][language], from.pools[pool][window], to.pools[pool][window])),
    ),
    ...line(rpm, from.rpm, to.rpm),
    ...line(atOnce, from.concurrency, to.concurrency),
    ...(modelsBefore === modelsAfter ? [] : [`${models}: ${modelsBefore} → ${modelsAfter}`]),
  ]
}

const creditNames = {
  fast: {
    day: { en: 'Fast credits a day', zh: '每日快速点数' },
    week: { en: 'Fast credits a week', zh: '每周快速点数' },
    month: { en: 'Fast credits a month', zh: '每月快速点数' },
  },
  premium: {
    day: { en: 'Premium credits a day', zh: '每日高级点数' },
    week: { en: 'Premium credits a week', zh: '每周高级点数' },
    month: { en: 'Premium credits a month', zh: '每月高级点数' },
  },
} as const

function draftFailure({ name, site }: SenderIdentity, { plan, endsAt }: EmailOf<'payment_failed'>, reader: Reader): Drafts {
  const url = `${site}/account/orders`
  return {
    en: {
      subject: `${name}: the payment for ${plan} failed`,
      blocks: [
        text(
          `The renewal of your plan ${plan} could not be charged. The paid time ended on ${formatEmailTime(endsAt, 'en', reader)}; the plan goes on for a few days, and the payment is tried again.`,
        ),
        text('Check the card or the account that pays for it. Without a payment the plan ends; nothing else is lost.'),
        link('See the renewal', url),
      ],
    },
    zh: {
      subject: `${name}：${plan} 扣款失败`,
      blocks: [
        text(
          `套餐 ${plan} 续费扣款失败。已付款的时间于 ${formatEmailTime(endsAt, 'zh', reader)} 结束；套餐会再保留几天，期间会再次尝试扣款。`,
        ),
        text('请检查用于付款的银行卡或账户。若未能付款，套餐将会结束，其他内容不受影响。'),
        link('查看续费', url),
      ],
    },
  }
}

function draftEnd({ name, site }: SenderIdentity, { plan, planId, next }: EmailOf<'ended'>): Drafts {
  const url = `${site}/plans?plan=${encodeURIComponent(planId)}`
  return {
    en: {
      subject: `${name}: ${plan} has ended`,
      blocks: [
        text(
          `Your plan ${plan} has ended. You have ${next} now. Packs, keys and settings stay as they are, and nothing is charged.`,
        ),
        link(`Buy ${plan} again`, url),
      ],
    },
    zh: {
      subject: `${name}：${plan} 已结束`,
      blocks: [
        text(`你的套餐 ${plan} 已结束，当前套餐为 ${next}。加油包、密钥和设置保持不变，也不会扣款。`),
        link(`再次购买 ${plan}`, url),
      ],
    },
  }
}

const link = (label: string, url: string): EmailBlock => ({ kind: 'link', label, url })
