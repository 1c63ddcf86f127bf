/** 状态页面的文字。 */
import type { status as english } from '../en/status.ts'

export const status: typeof english = {
  title: '服务状态',
  lead: '各模型的回答情况，来自会员的真实请求。',
  product: '模型',
  lastDay: '最近 24 小时',
  lastDays: '最近 {days} 天',
  success: '成功率',
  firstToken: '首个 token',
  noProducts: '当前没有可用的模型。',
  tooFew: '请求太少',
  asOf: '统计截至 {time}，每分钟读取一次。',
  beingMade: '仍在统计较早的请求，数字尚不完整。',
  counted: '因请求本身或限额而失败的请求，以及客户端中止的请求，不计入。一半的回答在首个 token 的时间内开始。',
  rule: '至少有 {turns} 次请求且来自 {accounts} 个账户时才显示，数字均经过取整。',
}
