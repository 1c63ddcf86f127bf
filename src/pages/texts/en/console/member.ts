/** `/operator/members` and one member. */
import type { AuditActor } from '../../../../domain/identity/operators/operator-actor.ts'
import type { AccountStatus } from '../../../../domain/identity/account.ts'
import type { TurnState } from '../../../../domain/billing/ledger.ts'
import type { StatementLineKind } from '../../../../domain/turn-history/turn-history.ts'
import type { SubscriptionSource, SubscriptionState } from '../../../../domain/billing/subscriptions/subscription.ts'

export const members = {
  search: 'Find a member',
  searchHint:
    'By address, account id, API key or its first characters, order number, or request id (of the newest 20,000 turns).',
  find: 'Find',
  none: 'There are no members yet.',
  notFound: 'Nothing was found. Check for typing errors; deleted accounts are found by their id only.',
  member: 'Member',
  plan: 'Plan',
  until: 'Until',
  status: 'Status',
  since: 'Since',
}

export const statuses: Record<AccountStatus, string> = { active: 'active', disabled: 'disabled', deleted: 'deleted' }

export const actors: Record<AuditActor['kind'], string> = {
  session: 'by an operator',
  unverified: 'by an operator',
  shell: 'by the shell of {user}',
  key: 'by an operator key',
  command: 'by a command of {user}',
}

export const member = {
  overview: 'Overview',
  id: 'Account',
  plan: 'Plan',
  until: 'Until',
  noEnd: 'no end',
  terms: 'Terms',
  since: 'Since',
  pools: 'Usage, as the member sees it',
  expires: 'expires',
  subscriptions: 'Plans, bought and given',
  subscriptionStates: {
    waiting: 'waiting',
    active: 'running',
    past_due: 'payment failed',
    cancelled: 'not renewed',
    ended: 'ended',
  } as Record<SubscriptionState, string>,
  sources: { given: 'given', code: 'by a code', order: 'bought', group: 'by a group' } as Record<SubscriptionSource, string>,
  byGroupOf: 'by a group of {provider}',
  turns: 'Turns and what they cost',
  findTurns: 'Find turns',
  turn: 'Turn',
  product: 'Model',
  ending: 'Ended',
  charged: 'Credits',
  turnStates: { held: 'running', settled: 'charged', refunded: 'not charged', expired: 'not charged' } as Record<
    TurnState,
    string
  >,
  keys: 'API keys',
  key: 'Key',
  made: 'Made',
  lastUsed: 'Last used',
  never: 'never',
  revoke: 'Revoke',
  revokeName: 'Revoke the key {name}',
  revokeTitle: 'Revoke the key {name}?',
  revoked: 'revoked',
  providers: 'Sign-in providers',
  unlink: 'Unlink',
  unlinkName: 'Unlink {name}',
  unlinkTitle: 'Unlink {name}?',
  unlinkLead: 'The next sign-in with the provider and a verified address links again. Sessions stay.',
  orders: 'Orders',
  log: 'Log',
  setPlan: 'Set plan',
  setPlanTitle: 'Give a plan',
  untilHint: 'The beginning of this day; empty: no end.',
  adjust: 'Correct credits',
  adjustTitle: 'Correct credits',
  pool: 'Pool',
  credits: 'Credits',
  creditsHint: 'A whole number; with a minus they are taken.',
  expiry: 'Added credits expire',
  expiryHint: 'At the beginning of this day; empty: in a year.',
  sendEmail: 'Send sign-in email',
  sendEmailTitle: 'Send an email whose link signs in?',
  changeEmail: 'Change address',
  changeEmailTitle: 'Change the email address',
  changeEmailLead: 'You vouch for the address. The old and the new one receive an email.',
  newEmail: 'New email address',
  endSessions: 'End sessions',
  endSessionsTitle: 'End all sessions of this member?',
  disable: 'Disable',
  disableTitle: 'Disable this account?',
  disableLead: 'Its requests and sign-ins are refused until it is enabled. Nothing is deleted.',
  enable: 'Enable',
  enableTitle: 'Enable this account?',
  futureDay: 'Choose a day in the future.',
  wholeCredits: 'Enter a whole number other than 0, such as 5000 or -5000.',
  notices: {
    plan_set: 'The plan was given.',
    plan_kept: 'The plan was given; a higher one runs until its end.',
    adjusted: 'The credits were corrected.',
    disabled: 'The account is disabled.',
    enabled: 'The account is enabled.',
    sessions_ended: 'All sessions have ended.',
    email_sent: 'The email was sent.',
    email_delayed: 'The mail server cannot be reached now; the email is sent as soon as it can be.',
    email_changed: 'The address was changed, and both addresses receive an email.',
    key_revoked: 'The key is revoked.',
    unlinked: 'The provider is unlinked.',
  },
}

export const statement = {
  title: 'Statement',
  beingMade: 'Older turns are still being added to the lists; the statement is there after that.',
  when: 'When',
  what: 'What',
  change: 'Change',
  planLeft: 'Plan left',
  packsLeft: 'Packs left',
  turn: 'Turn of {product}',
  added: 'Credits added',
  taken: 'Credits taken',
  kinds: { turn: 'Turn', grant: 'Pack', adjust: 'Correction', open: 'A period began', limit: 'The limit changed' } as Record<
    StatementLineKind,
    string
  >,
}
