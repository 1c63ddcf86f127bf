/** What signing in of programs is built from. */
import type { Names } from '../../config/brand.ts'
import type { GatewayConfig } from '../../config/config.ts'
import type { Membership } from '../../membership/membership.ts'
import type { Store } from '../../membership/store.ts'
import type { Clock } from '../../system/clock.ts'
import type { Credentials } from '../credentials.ts'

/** Absolute addresses for links: of the website, and of the API. */
export interface Origins {
  readonly site: string
  readonly base: string
}

export interface ConnectParts {
  readonly config: Pick<GatewayConfig, 'brand' | 'connect'>
  readonly names: Names
  readonly origins: Origins
  readonly clock: Clock
  readonly store: Store
  readonly credentials: Pick<Credentials, 'forgetAccount'>
  readonly membership: Pick<Membership, 'apps'>
}
