/** `/redeem` 的文字。 */
import type { redeem as english } from '../en/redeem.ts'

export const redeem: typeof english = {
  title: '使用兑换码',
  lead: '兑换码可以换取一段时间的套餐，或一笔点数。兑换前会先显示内容。',
  code: '兑换码',
  hint: '20 个字母和数字，不区分大小写，可省略连字符。',
  next: '查看内容',
  givesTitle: '该兑换码包含',
  account: '账户',
  plan: '套餐',
  span: '时长',
  starts: '开始',
  now: '立即',
  ends: '结束',
  credits: '点数',
  expires: '到期',
  waits: '将在你当前的套餐结束后开始，两者都不会有损失。',
  interrupts: '立即开始。结束后将继续 {plan} 的剩余时间。',
  windows: '已使用的额度不会清零：每日、每周和每月的周期不会重新开始。',
  packs: '套餐额度用完后才会使用这些点数，先到期的先使用。',
  redeem: '兑换',
  another: '使用其他兑换码',
  doneTitle: '兑换成功',
  toUsage: '查看用量',
  notices: { redeem_again: '该兑换码已兑换过，只计一次。' },
  spans: {
    d: { one: '{count} 天', other: '{count} 天' },
    mo: { one: '{count} 个月', other: '{count} 个月' },
    y: { one: '{count} 年', other: '{count} 年' },
  },
}
