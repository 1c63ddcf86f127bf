/** Everything under `/api/membership`, as `src/api/membership` describes it. */
import type { Services } from '../../../gateway/services.ts'
import type { Serve } from '../../serve.ts'
import { boostRoutes } from './boost.ts'
import { deviceRoutes } from './devices.ts'
import { keyRoutes } from './keys.ts'
import { planRoutes } from './plans.ts'
import { providerRoutes } from './providers.ts'
import { sessionRoutes } from './sessions.ts'
import { signInRoutes } from './sign-in.ts'
import { usageRoutes } from './usage.ts'

export function membershipRoutes(serve: Serve, services: Services): void {
  planRoutes(serve, services)
  signInRoutes(serve, services)
  providerRoutes(serve, services)
  sessionRoutes(serve, services)
  deviceRoutes(serve, services)
  keyRoutes(serve, services)
  boostRoutes(serve, services)
  usageRoutes(serve, services)
}
