/**
 * The services of one serving thread: everything with state, time or randomness. Created in `src/server/create-services.ts`.
 * Plugins are promised less (`src/exchange/plugins/plugin-services.ts`); a part names the fields that it uses, as `Pick<Services, 'clock'>`.
 */
import type { Logger } from 'pino'
import type { BrandNames } from '../exchange/brand-names.ts'
import type { Clock } from '../system/clock.ts'
import type { GatewayConfig } from '../config/config.ts'
import type { BodyParser, TranslatorSettings } from '../exchange/body-parser/body-parser.ts'
import type { BodyDiscarder } from '../system/body-reads/body-discarder.ts'
import type { BodyReadScheduler } from '../system/body-reads/body-read-scheduler.ts'
import type { ImageStore } from '../images/image-store.ts'
import type { PluginServices } from '../exchange/plugins/plugin-services.ts'
import type { Ids } from '../system/ids.ts'
import type { Limits } from '../access/limits/limits.ts'
import type { Credentials } from '../access/credentials.ts'
import type { Ledger } from '../domain/billing/ledger.ts'
import type { PaymentProvider } from '../domain/billing/orders/payment-provider.ts'
import type { OrderServicePort } from '../domain/services/orders/order-service-port.ts'
import type { Membership } from '../domain/services/membership.ts'
import type { Calendar } from '../domain/billing/period.ts'
import type { Store } from '../domain/store.ts'
import type { Telemetry } from '../observability/telemetry.ts'
import type { Products } from '../config/products.ts'
import type { MediaAddressGuard } from '../access/media-address-guard.ts'
import type { TrustedIssuers } from '../access/trusted-issuers.ts'
import type { ServiceStatusReader } from './health/service-status.ts'
import type { Upstreams } from '../upstream/target/upstreams.ts'

export interface Services {
  readonly config: GatewayConfig
  readonly names: BrandNames
  /** Absolute origins for links, from the configuration alone. */
  readonly origins: { readonly site: string; readonly base: string }
  readonly clock: Clock
  readonly ids: Ids
  readonly log: Logger
  readonly telemetry: Telemetry
  readonly store: Store
  readonly ledger: Ledger
  readonly calendar: Calendar
  /** Resolves tokens, through a short-lived cache in front of the store. */
  readonly credentials: Credentials
  /** Resolves tokens signed by an operator's own identity provider. */
  readonly jwt: TrustedIssuers
  readonly limits: Limits
  /** Parses large requests in a worker thread. */
  readonly bodyParser: BodyParser
  /** Slows reading of long bodies, so that short requests need not wait for them. */
  readonly bodyScheduler: BodyReadScheduler
  /** Receives the bodies of requests that are answered before. */
  readonly bodyDiscarder: BodyDiscarder
  /** Images generated for members. */
  readonly images: ImageStore
  /** The domain services: sign-in, sessions, devices, boosts. */
  readonly membership: Membership
  /** Through whom members pay, by name in the order of the configuration; none: nothing is sold. */
  readonly paymentProviders: ReadonlyMap<string, PaymentProvider>
  /** The part of `membership` that plugins use. */
  readonly boosts: Membership['boosts']
  /** Null where nothing is sold. */
  readonly orders: OrderServicePort | null
  /** What refusals advise to buy. */
  readonly purchases: PluginServices['purchases']
  readonly products: Products
  /** This installation's secret (32 bytes), from which every keyed hash is derived. */
  readonly secret: Buffer
  /** Settings of the translations of other API formats. */
  readonly translator: TranslatorSettings
  /** Which addresses in messages may go upstream. */
  readonly mediaAddresses: MediaAddressGuard
  /** The targets behind the products, with their health. */
  readonly upstreams: Upstreams
  /** How the products did lately, for `/status`. */
  readonly serviceStatus: ServiceStatusReader
}
