/** 控制台各页面的文字。 */
import type { console as english } from '../../en/console/console.ts'
import { codes, money, packs, subscribers } from './money.ts'
import { orders } from './orders.ts'
import { audit, system } from './system.ts'
import { notices } from './notices.ts'
import { now } from './now.ts'
import { routing } from './routing.ts'
import { failures, turn, turns } from './turns.ts'
import { actors, member, members, statement, statuses } from './member.ts'

export const console: typeof english = {
  sectionsTitle: '控制台栏目',
  sections: {
    now: '概况',
    members: '会员',
    turns: '请求',
    failures: '失败',
    routing: '模型与上游',
    money: '资金',
    orders: '订单',
    notices: '公告',
    audit: '审计',
    system: '系统',
    session: '本次登录',
  },
  toSite: '返回网站',
  pager: { first: '首页', next: '下一页' },
  actionForm: {
    reason: '原因',
    reasonShown: '会员可以看到。',
    reasonKept: '仅保存在审计日志中。',
    proofHint: '此操作需要身份验证器的新验证码，或一个恢复码。',
  },
  now,
  turns,
  turn,
  failures,
  routing,
  money,
  codes,
  packs,
  subscribers,
  orders,
  notices,
  audit,
  system,
  members,
  member,
  statement,
  statuses,
  actors,
}
