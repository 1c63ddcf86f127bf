/** What plugins and routes are handed: everything that has state, time or chance in it. Made once, in `main.ts`. */
import type { Logger } from 'pino'
import type { Names } from '../config/brand.ts'
import type { Clock } from '../system/clock.ts'
import type { GatewayConfig } from '../config/config.ts'
import type { LargeBodies } from '../exchange/large/large-bodies.ts'
import type { InTurn } from '../http/in-turn.ts'
import type { ImageStore } from '../tools/images/image-store.ts'
import type { Ids } from '../system/ids.ts'
import type { Limits } from '../access/limits/limits.ts'
import type { Credentials } from '../access/credentials.ts'
import type { Ledger } from '../membership/ledger.ts'
import type { Membership } from '../membership/membership.ts'
import type { Calendar } from '../membership/period.ts'
import type { Store } from '../membership/store.ts'
import type { Observe } from '../system/observe/observe.ts'
import type { Products } from '../config/products.ts'
import type { TrustedIssuers } from '../access/trusted-issuers.ts'
import type { Upstreams } from '../upstream/upstreams.ts'

export interface Services {
  readonly config: GatewayConfig
  readonly names: Names
  /** Absolute addresses for links, from the configuration alone. */
  readonly origins: { readonly site: string; readonly base: string }
  readonly clock: Clock
  readonly ids: Ids
  readonly log: Logger
  readonly observe: Observe
  readonly store: Store
  readonly ledger: Ledger
  readonly calendar: Calendar
  /** Whose token this is, from a short memory in front of the store. */
  readonly credentials: Credentials
  /** Whose token this is, where an operator's own identity provider signed it. */
  readonly jwt: TrustedIssuers
  readonly limits: Limits
  /** Reads large requests, in a thread of its own. */
  readonly largeBodies: LargeBodies
  /** Has long bodies read so that short ones need not wait for them. */
  readonly longBodies: InTurn
  /** Images painted for members. */
  readonly images: ImageStore
  /** The desks where members sign in, approve devices and take boosts. */
  readonly membership: Membership
  readonly products: Products
  /** This installation's own secret (32 bytes), from which every keyed hash is derived. */
  readonly secret: Buffer
  /** The targets behind the products, with their health. */
  readonly upstreams: Upstreams
}
