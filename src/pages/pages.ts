/** The site's pages. */
import type { Page } from './page.ts'
import { cancelRenewalByLink, createCancelRenewalView } from './views/cancel-renewal.ts'
import { createChatView } from './views/chat.ts'
import { consentActions, createConsentView } from './views/consent.ts'
import { createDemoPaymentView, demoPaymentActions } from './views/demo-payment.ts'
import { createDeviceView, deviceActions } from './views/device.ts'
import { docsPages } from './docs/docs-pages.ts'
import { createDocsSearchView, createDocsView } from './views/docs.ts'
import { createHomeView } from './views/home.ts'
import { createPrivacyView, createTermsView } from './views/legal.ts'
import { boostActions, createBoostsView } from './views/member/boosts.ts'
import { checkoutActions, createCheckoutView } from './views/member/checkout.ts'
import { createKeysView, keyActions } from './views/member/keys.ts'
import { createOrderView, getOrderNotices, orderActions } from './views/member/order.ts'
import { createOrdersView, getOrdersNotices, ordersActions } from './views/member/orders.ts'
import { createProfileView, profileActions } from './views/member/profile.ts'
import { createReceiptView } from './views/member/receipt.ts'
import { createRedeemView, redeemActions } from './views/member/redeem.ts'
import { createSecurityView, securityActions } from './views/member/security.ts'
import { createSessionsView, sessionActions } from './views/member/sessions.ts'
import { createUsageView } from './views/member/usage.ts'
import { consoleActions, consoleRepeats, createConsoleView } from './views/operator/sign-in/console.ts'
import { operatorPages } from './views/operator/operator-pages.ts'
import { createShellLinkView, shellLinkActions, shellLinkRepeats } from './views/operator/sign-in/shell-link.ts'
import { createPlansView } from './views/plans.ts'
import { createSignInLinkView, signInLinkActions, signInLinkRepeats } from './views/sign-in/sign-in-link.ts'
import { createSignInSwitchView } from './views/sign-in/sign-in-switch.ts'
import { createSignInView, signInActions, signInRepeats } from './views/sign-in/sign-in.ts'
import { createSignOutView, signOutActions } from './views/sign-in/sign-out.ts'
import { createStatusView } from './views/status.ts'
import { createUnsubscribeView, unsubscribe } from './views/unsubscribe.ts'

export const pages: readonly Page[] = [
  { path: '/', audience: 'everyone', view: createHomeView },
  { path: '/plans', audience: 'everyone', view: createPlansView },
  ...docsPages.map((page): Page => ({ path: page.path, audience: 'everyone', view: createDocsView(page) })),
  { path: '/docs/search', audience: 'everyone', view: createDocsSearchView },
  { path: '/terms', audience: 'everyone', view: createTermsView },
  { path: '/status', audience: 'everyone', view: createStatusView },
  { path: '/privacy', audience: 'everyone', view: createPrivacyView },
  {
    path: '/sign-in',
    audience: 'guests',
    view: createSignInView,
    actions: signInActions,
    repeats: signInRepeats,
    hasPrivateAddress: true,
  },
  {
    path: '/sign-in/link',
    audience: 'everyone',
    view: createSignInLinkView,
    actions: signInLinkActions,
    repeats: signInLinkRepeats,
  },
  { path: '/sign-in/switch', audience: 'everyone', view: createSignInSwitchView },
  { path: '/unsubscribe', audience: 'everyone', view: createUnsubscribeView, submit: unsubscribe },
  { path: '/cancel-renewal', audience: 'everyone', view: createCancelRenewalView, submit: cancelRenewalByLink },
  { path: '/account', audience: 'members', view: createUsageView, notices: (t) => t.account.usageNotices },
  {
    path: '/account/boosts',
    audience: 'members',
    view: createBoostsView,
    actions: boostActions,
    notices: (t) => t.account.boostNotices,
  },
  {
    path: '/redeem',
    audience: 'members',
    view: createRedeemView,
    actions: redeemActions,
    notices: (t) => t.redeem.notices,
    hasPrivateAddress: true,
  },
  { path: '/checkout', audience: 'members', view: createCheckoutView, actions: checkoutActions, repeats: checkoutActions },
  { path: '/account/orders', audience: 'members', view: createOrdersView, actions: ordersActions, notices: getOrdersNotices },
  { path: '/account/orders/:id', audience: 'members', view: createOrderView, actions: orderActions, notices: getOrderNotices },
  { path: '/account/orders/:id/receipt', audience: 'members', view: createReceiptView },
  {
    path: '/account/security',
    audience: 'members',
    view: createSecurityView,
    actions: securityActions,
    notices: (t) => t.account.securityNotices,
  },
  {
    path: '/account/profile',
    audience: 'members',
    view: createProfileView,
    actions: profileActions,
    notices: ({ account: { alerts } }) => ({ on: alerts.on, off: alerts.off }),
  },
  { path: '/keys', audience: 'members', view: createKeysView, actions: keyActions, notices: (t) => t.keys.notices },
  {
    path: '/sessions',
    audience: 'members',
    view: createSessionsView,
    actions: sessionActions,
    notices: (t) => t.sessions.notices,
  },
  {
    path: '/device',
    audience: 'members',
    view: createDeviceView,
    actions: deviceActions,
    notices: ({ device }) => ({ decide_again: device.decidedBefore }),
  },
  {
    path: '/connect/:uid',
    audience: 'members',
    view: createConsentView,
    formPath: '/connect/:uid/decision',
    actions: consentActions,
  },
  {
    path: '/payments/demo/:order',
    audience: 'everyone',
    view: createDemoPaymentView,
    actions: demoPaymentActions,
    notices: (t) => t.demoPayment.notices,
  },
  { path: '/sign-out', audience: 'members', view: createSignOutView, actions: signOutActions },
  {
    path: '/operator',
    audience: 'everyone',
    view: createConsoleView,
    actions: consoleActions,
    repeats: consoleRepeats,
    notices: (t) => t.operator.notices,
    findsOperator: true,
  },
  ...operatorPages,
  {
    path: '/operator/link',
    audience: 'everyone',
    view: createShellLinkView,
    actions: shellLinkActions,
    repeats: shellLinkRepeats,
    hasPrivateAddress: true,
  },
  { path: '/chat', audience: 'members', view: createChatView },
]
