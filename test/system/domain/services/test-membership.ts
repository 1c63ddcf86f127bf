/** The domain services over a store, for tests of signing in. */
import { createOneTimePasswords } from '../../../../src/access/one-time-passwords.ts'
import { createPasskeyProtocol } from '../../../../src/access/passkey-protocol.ts'
import { createCalendar } from '../../../../src/domain/billing/period.ts'
import { mergeAttemptLimits } from '../../../../src/domain/identity/limits/attempt-limits.ts'
import type { MemberMailer } from '../../../../src/domain/member-mailer.ts'
import type { SignUpRules } from '../../../../src/domain/identity/sign-up-rules.ts'
import { createMembership } from '../../../../src/domain/services/membership.ts'
import type { Membership } from '../../../../src/domain/services/membership.ts'
import type { Store } from '../../../../src/domain/store.ts'
import { createIds } from '../../../../src/system/ids.ts'

const secret = Buffer.alloc(32, 7)
const random = (size: number): Buffer => Buffer.alloc(size, 1)

interface TestMembershipOptions {
  readonly store: Store
  readonly clock: { now(): number }
  readonly signUp: SignUpRules['signUp']
  readonly sendSignInCode: MemberMailer['sendSignInCode']
}

export function createTestMembership({ store, clock, signUp, sendSignInCode }: TestMembershipOptions): Membership {
  return createMembership({
    maxConcurrentHashes: 2,
    store,
    mailer: {
      sendSignInCode,
      sendReauthenticationCode: async () => 'queued',
      async sendDeviceSignedIn() {},
      async sendPasswordChanged() {},
      async sendAccountDeleted() {},
      async sendAccountDeletionWaits() {},
      sendEmailChangeCode: async () => 'queued',
      async sendEmailChanged() {},
      deliverPurchaseEmail: () => Promise.resolve('sent'),
      deliverUsageAlert: async () => 'sent',
    },
    calendar: createCalendar('UTC'),
    clock,
    ids: createIds(),
    secret,
    sessionPrefix: 'svc_sess_',
    operatorKeyPrefix: 'svc_op_',
    groupRoles: {},
    groupPlans: {},
    passkeyProtocol: createPasskeyProtocol({ name: 'svc', getSite: () => 'https://svc.example', random }),
    oneTimePasswords: createOneTimePasswords({ issuer: 'svc', secret, random }),
    keys: { prefix: 'svc_live_', perAccount: 20 },
    rules: { mergeAliases: true, blockedDomains: [], isDisposable: () => false, signUp, allowedDomains: [] },
    attemptLimitTable: mergeAttemptLimits({}),
    boostRules: { checkin: { pool: 'fast', credits: 1, days: 1 }, invite: { pool: 'fast', credits: 1, days: 1, perMonth: 1 } },
    plans: {},
    defaultPlan: 'free',
    timeZone: 'UTC',
    onCredentialsChanged: () => undefined,
  })
}
