/** The name of what is bought, for pages, receipts, emails and payment providers. */
import type { OrderItem } from './order.ts'
import type { Pool } from '../catalog/product.ts'

type Language = 'en' | 'zh'
/** What the name needs of an order's item, an offer or a pack of the configuration. */
export type TitledItem =
  | { readonly kind: 'plan'; readonly name: string; readonly interval: 'month' | 'year' }
  | { readonly kind: 'pack'; readonly credits: number; readonly pool: Pool }

/** `Pro, 1 month`, or `500,000 credits for premium models`. */
export function formatItemTitle(item: TitledItem, language: Language): string {
  if (item.kind === 'plan')
    return language === 'zh'
      ? `${item.name}，${item.interval === 'month' ? '1 个月' : '1 年'}`
      : `${item.name}, ${item.interval === 'month' ? '1 month' : '1 year'}`
  const credits = new Intl.NumberFormat(language === 'zh' ? 'zh-CN' : 'en-US').format(item.credits)
  return language === 'zh'
    ? `${credits} 点${item.pool === 'fast' ? '快速' : '高级'}模型额度`
    : `${credits} credits for ${item.pool} models`
}

export function formatOrderTitle(item: OrderItem, language: Language): string {
  return formatItemTitle(
    item.kind === 'plan' ? { kind: 'plan', name: item.terms.plan.name, interval: item.interval } : item,
    language,
  )
}
