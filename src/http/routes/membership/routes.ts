/** Mounts everything under `/api/membership`, as `src/api/membership` describes it. */
import { ProviderClients } from '../../../access/sign-in-providers.ts'
import type { Services } from '../../../services/services.ts'
import type { ServeEndpoint } from '../../endpoint-handler.ts'
import { mountBoostRoutes } from './boost.ts'
import { mountDeviceRoutes } from './devices.ts'
import { mountKeyRoutes } from './keys.ts'
import { mountOrderRoutes } from './orders.ts'
import { mountPasskeyRoutes } from './passkeys.ts'
import { mountPlanRoutes } from './plans.ts'
import { mountProviderRoutes } from './providers.ts'
import { mountRedeemCodeRoutes } from './redeem-codes.ts'
import { mountSessionRoutes } from './sessions.ts'
import { mountSignInRoutes } from './sign-in.ts'
import { mountUsageAlertRoutes } from './usage-alerts.ts'
import { mountUsageRoutes } from './usage.ts'

export function mountMembershipRoutes(serve: ServeEndpoint, services: Services): void {
  const providers = new ProviderClients(services.config.signIn.providers, services.clock)
  mountPlanRoutes(serve, services)
  mountSignInRoutes(serve, services, providers)
  mountProviderRoutes(serve, services, providers)
  mountPasskeyRoutes(serve, services)
  mountSessionRoutes(serve, services)
  mountDeviceRoutes(serve, services)
  mountKeyRoutes(serve, services)
  mountBoostRoutes(serve, services)
  mountRedeemCodeRoutes(serve, services)
  mountOrderRoutes(serve, services)
  mountUsageRoutes(serve, services)
  mountUsageAlertRoutes(serve, services)
}
