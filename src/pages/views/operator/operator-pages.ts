/** The pages of the console behind its sign-in. */
import type { Page } from '../../page.ts'
import { createAuditView } from './audit.ts'
import { memberActions } from './member/member-actions.ts'
import { createMemberView } from './member/member.ts'
import { createMembersView } from './members.ts'
import { codeActions, codeListActions } from './money/code-actions.ts'
import { createCodeView } from './money/code.ts'
import { createCodesView } from './money/codes.ts'
import { moneyPages } from './money/money-tabs.ts'
import { createMoneyView } from './money/money.ts'
import { orderActions } from './money/order-refund.ts'
import { createOperatorOrderView } from './money/order.ts'
import { createOperatorOrdersView } from './money/orders.ts'
import { createProductView, productActions, productPath } from './routing/product.ts'
import { createRoutingView } from './routing/routing.ts'
import { createUpstreamView, upstreamActions, upstreamPath } from './routing/upstream.ts'
import { createNoticesView, noticeActions } from './notices.ts'
import { createPacksView } from './money/packs.ts'
import { createSubscribersView } from './money/subscribers.ts'
import { consoleSections } from './sections.ts'
import { createSystemView, systemActions } from './system.ts'
import { createFailuresView } from './turns/failures.ts'
import { createTurnView } from './turns/turn.ts'
import { createTurnsView } from './turns/turns.ts'
import { consoleSessionActions, createConsoleSessionView } from './sign-in/session.ts'

export const operatorPages: readonly Page[] = [
  { ...consoleSections.members, audience: 'operators', view: createMembersView },
  {
    path: `${consoleSections.members.path}/:id`,
    access: consoleSections.members.access,
    audience: 'operators',
    view: createMemberView,
    actions: memberActions,
    notices: (t) => t.console.member.notices,
  },
  { ...consoleSections.turns, audience: 'operators', view: createTurnsView },
  {
    path: `${consoleSections.turns.path}/:id`,
    access: consoleSections.turns.access,
    audience: 'operators',
    view: createTurnView,
  },
  { ...consoleSections.failures, audience: 'operators', view: createFailuresView },
  { ...consoleSections.routing, audience: 'operators', view: createRoutingView },
  {
    path: productPath,
    access: consoleSections.routing.access,
    audience: 'operators',
    view: createProductView,
    actions: productActions,
    notices: (t) => t.console.routing.notices,
  },
  {
    path: upstreamPath,
    access: consoleSections.routing.access,
    audience: 'operators',
    view: createUpstreamView,
    actions: upstreamActions,
    notices: (t) => t.console.routing.notices,
  },
  { ...moneyPages.figures, audience: 'operators', view: createMoneyView },
  {
    ...moneyPages.codes,
    audience: 'operators',
    view: createCodesView,
    actions: codeListActions,
    notices: (t) => t.console.codes.notices,
  },
  {
    path: `${moneyPages.codes.path}/:id`,
    access: moneyPages.codes.access,
    audience: 'operators',
    view: createCodeView,
    actions: codeActions,
    notices: (t) => t.console.codes.notices,
  },
  { ...moneyPages.packs, audience: 'operators', view: createPacksView },
  { ...moneyPages.subscribers, audience: 'operators', view: createSubscribersView },
  { ...consoleSections.orders, audience: 'operators', view: createOperatorOrdersView },
  {
    path: `${consoleSections.orders.path}/:id`,
    access: consoleSections.orders.access,
    audience: 'operators',
    view: createOperatorOrderView,
    actions: orderActions,
    notices: (t) => t.console.orders.notices,
  },
  {
    ...consoleSections.notices,
    audience: 'operators',
    view: createNoticesView,
    actions: noticeActions,
    notices: (t) => t.console.notices.done,
  },
  { ...consoleSections.audit, audience: 'operators', view: createAuditView },
  {
    ...consoleSections.system,
    audience: 'operators',
    view: createSystemView,
    actions: systemActions,
    notices: (t) => t.console.system.notices,
  },
  {
    ...consoleSections.session,
    audience: 'operators',
    view: createConsoleSessionView,
    actions: consoleSessionActions,
    notices: (t) => t.operator.notices,
  },
]
