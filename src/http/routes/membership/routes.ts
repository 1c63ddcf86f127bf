/** Everything under `/api/membership`; the table is in the README beside this file. */
import type { Router } from '@koa/router'
import type { House } from '../../house.ts'
import { apiKeyRoutes } from './api-keys.ts'
import { boostRoutes } from './boost.ts'
import { deviceRoutes } from './devices.ts'
import { providerRoutes } from './providers.ts'
import { sessionRoutes } from './sessions.ts'
import { signInRoutes } from './sign-in.ts'
import { usageRoutes } from './usage.ts'

export function membershipRoutes(router: Router, house: House): void {
  signInRoutes(router, house)
  providerRoutes(router, house)
  sessionRoutes(router, house)
  deviceRoutes(router, house)
  apiKeyRoutes(router, house)
  boostRoutes(router, house)
  usageRoutes(router, house)
}
