/** The member's choice of emails at 80 and 100 % of a window. */
import { setUsageAlerts, showUsageAlerts } from '../../../api/membership/usage-alerts.ts'
import type { Services } from '../../../services/services.ts'
import type { ServeEndpoint } from '../../endpoint-handler.ts'

export function mountUsageAlertRoutes(serve: ServeEndpoint, { membership: { usageAlerts } }: Pick<Services, 'membership'>): void {
  serve(showUsageAlerts, async ({ member: { account } }) => ({ enabled: await usageAlerts.isSubscribed(account.id) }))

  serve(setUsageAlerts, async ({ member: { account }, body: { enabled }, clientInfo: { reader } }) => {
    await usageAlerts.setSubscribed(account.id, enabled, reader)
    return { ok: true, enabled }
  })
}
