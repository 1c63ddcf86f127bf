/** Dependencies of the OAuth server. */
import type { BrandNames } from '../../exchange/brand-names.ts'
import type { GatewayConfig } from '../../config/config.ts'
import type { Membership } from '../../domain/services/membership.ts'
import type { Store } from '../../domain/store.ts'
import type { Clock } from '../../system/clock.ts'
import type { Credentials } from '../credentials.ts'

/** Absolute base addresses for links: of the website and of the API. */
interface Origins {
  readonly site: string
  readonly base: string
}

export interface OAuthDeps {
  readonly config: Pick<GatewayConfig, 'brand' | 'oauth'>
  readonly names: BrandNames
  readonly origins: Origins
  readonly clock: Clock
  readonly store: Store
  readonly credentials: Pick<Credentials, 'invalidateEverywhere'>
  readonly membership: Pick<Membership, 'oauthClients'>
}
