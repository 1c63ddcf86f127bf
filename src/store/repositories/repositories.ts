/** All repositories on one database. */
import { createAccountRepository } from './identity/accounts.ts'
import { createAccountDeletionRepository } from './identity/account-deletions.ts'
import { createApiKeyRepository } from './identity/api-keys.ts'
import { createOAuthClientRepository } from './identity/oauth-clients.ts'
import { createAuditRepository } from './identity/audit.ts'
import { createBoostRepository } from './billing/boosts.ts'
import { createCredentialChangeRepository } from './identity/credential-changes.ts'
import { createAttemptRepository } from './identity/attempts.ts'
import type { Database } from '../database.ts'
import { createDeviceLoginRepository } from './identity/device-logins.ts'
import { createProviderIdentityRepository, createProviderLoginRepository } from './identity/identities.ts'
import { createOperatorRepository } from './identity/operators.ts'
import { createImageRepository } from './images.ts'
import { createTakenOutTargetRepository } from './taken-out-targets.ts'
import { createNoticeRepository } from './notices.ts'
import { createEmailVerificationRepository } from './identity/email-verifications.ts'
import { createCarriedUsageRepository } from './billing/carried-usage.ts'
import { createSessionRepository } from './identity/sessions.ts'
import { createDailyUsageRepository } from './billing/daily-usage.ts'
import { createUsageAlertRepository } from './billing/usage-alerts.ts'
import { createNotificationRepository } from './notifications/notifications.ts'
import { createOrderRepository } from './billing/orders.ts'
import { createPurchaseNoticeRepository } from './billing/purchase-notices.ts'
import { createRedeemCodeRepository } from './billing/redeem-codes.ts'
import { createSaleListRepository } from './billing/sale-lists.ts'
import { createSubscriptionRepository } from './billing/subscriptions.ts'
import { createUsageSumRepository } from './billing/usage-sums.ts'

export function createRepositories(db: Database) {
  return {
    accounts: createAccountRepository(db),
    accountDeletions: createAccountDeletionRepository(db),
    apiKeys: createApiKeyRepository(db),
    images: createImageRepository(db),
    sessions: createSessionRepository(db),
    oauthClients: createOAuthClientRepository(db),
    emailVerifications: createEmailVerificationRepository(db),
    providerIdentities: createProviderIdentityRepository(db),
    providerLogins: createProviderLoginRepository(db),
    deviceLogins: createDeviceLoginRepository(db),
    boosts: createBoostRepository(db),
    subscriptions: createSubscriptionRepository(db),
    redeemCodes: createRedeemCodeRepository(db),
    orders: createOrderRepository(db),
    saleLists: createSaleListRepository(db),
    purchaseNotices: createPurchaseNoticeRepository(db),
    attempts: createAttemptRepository(db),
    carriedUsage: createCarriedUsageRepository(db),
    operators: createOperatorRepository(db),
    takenOutTargets: createTakenOutTargetRepository(db),
    audit: createAuditRepository(db),
    credentialChanges: createCredentialChangeRepository(db),
    dailyUsage: createDailyUsageRepository(db),
    usageSums: createUsageSumRepository(db),
    usageAlerts: createUsageAlertRepository(db),
    notices: createNoticeRepository(db),
    notifications: createNotificationRepository(db),
  }
}
