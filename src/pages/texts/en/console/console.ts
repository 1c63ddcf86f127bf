/** The pages of the operator's console. */
import { codes, money, packs, subscribers } from './money.ts'
import { orders } from './orders.ts'
import { audit, system } from './system.ts'
import { notices } from './notices.ts'
import { now } from './now.ts'
import { routing } from './routing.ts'
import { failures, turn, turns } from './turns.ts'
import { actors, member, members, statement, statuses } from './member.ts'

export const console = {
  sectionsTitle: 'Sections of the console',
  sections: {
    now: 'Now',
    members: 'Members',
    turns: 'Turns',
    failures: 'Failures',
    routing: 'Routing',
    money: 'Money',
    orders: 'Orders',
    notices: 'Notices',
    audit: 'Audit',
    system: 'System',
    session: 'Session',
  },
  toSite: 'To the website',
  pager: { first: 'First page', next: 'Next page' },
  actionForm: {
    reason: 'Reason',
    reasonShown: 'The member reads it.',
    reasonKept: 'It is kept in the audit log.',
    proofHint: 'This needs a fresh code of your authenticator app, or a recovery code.',
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
