/** Creates the services of one serving thread from the resources of its process. */
import { isDeepStrictEqual } from 'node:util'
import type { Logger } from 'pino'
import type { Limits } from '../access/limits/limits.ts'
import { Credentials } from '../access/credentials.ts'
import { createOneTimePasswords } from '../access/one-time-passwords.ts'
import { createPasskeyProtocol } from '../access/passkey-protocol.ts'
import { MediaAddressGuard } from '../access/media-address-guard.ts'
import { TrustedIssuers } from '../access/trusted-issuers.ts'
import type { GatewayConfig } from '../config/config.ts'
import { deriveNames } from '../exchange/brand-names.ts'
import { Products } from '../config/products.ts'
import type { TranslatorSettings } from '../exchange/body-parser/body-parser.ts'
import { SizedBodyParser } from '../exchange/body-parser/sized-body-parser.ts'
import { WorkerBodyParser } from '../exchange/body-parser/worker-body-parser.ts'
import type { WorkerBodyParserOptions } from '../exchange/body-parser/worker-body-parser.ts'
import { deriveSealKey } from '../formats/reasoning-seal.ts'
import { listTargetApis, listTargetFacts, preparerUrl } from '../upstream/prepare-parts.ts'
import { translatorUrl } from '../formats/translate-request.ts'
import { BodyDiscarder } from '../system/body-reads/body-discarder.ts'
import { BodyReadScheduler } from '../system/body-reads/body-read-scheduler.ts'
import { mergeAttemptLimits } from '../domain/identity/limits/attempt-limits.ts'
import { getMagicLinkLifetimeMs } from '../domain/identity/limits/email-send-limits.ts'
import { createMembership } from '../domain/services/membership.ts'
import { toPackOffer } from '../domain/services/orders/order-checkout.ts'
import { createCalendar } from '../domain/billing/period.ts'
import type { PaymentProvider } from '../domain/billing/orders/payment-provider.ts'
import type { ImageFiles } from '../domain/image.ts'
import type { Store } from '../domain/store.ts'
import type { Clock } from '../system/clock.ts'
import type { DataFolder } from '../system/data-folder/data-folder.ts'
import type { Ids } from '../system/ids.ts'
import type { Mailer } from '../mail/mailer.ts'
import { createMemberMail } from '../mail/member-mail.ts'
import type { Telemetry } from '../observability/telemetry.ts'
import { ImageFolder } from '../images/image-folder.ts'
import { ImageStore } from '../images/image-store.ts'
import { Upstreams } from '../upstream/target/upstreams.ts'
import { createDisposableDomainCheck } from './disposable-domains.ts'
import { ServiceStatusReader } from '../services/health/service-status.ts'
import { listPurchases } from '../services/purchases.ts'
import type { Services } from '../services/services.ts'

/** The parts of a process or of a thread from which its services are made. */
export interface ProcessParts {
  readonly config: GatewayConfig
  readonly folder: DataFolder
  readonly clock: Clock
  readonly ids: Ids
  readonly log: Logger
  readonly telemetry: Telemetry
  readonly store: Store
  readonly secret: Buffer
  /** Through whom members pay, by name; none by default. */
  readonly paymentProviders?: ReadonlyMap<string, PaymentProvider>
  /** Address of the built-in demo upstream; null where it is not used. */
  readonly demoUrl: string | null
  /** Random number, 0 ≤ n < 1, for choosing among targets. */
  readonly random: () => number
}

interface ServiceDeps extends ProcessParts {
  readonly limits: Limits
  /** Where images are stored; null: in the data folder. */
  readonly imageFiles: ImageFiles | null
  readonly mail: Pick<Mailer, 'enqueue' | 'deliver'>
  /** Passwords hashed concurrently. */
  readonly maxConcurrentHashes: number
  /** Notifies the other threads of this process that an account's credentials have changed. */
  readonly invalidateElsewhere?: (account: string) => void
}

/** Hashing occupies a core: two at once leave the others to the service. */
export const maxConcurrentHashes = 2

export interface CreatedServices extends Services {
  /** Set once the server listens. */
  readonly origins: { site: string; base: string }
  /** What the body parser was created with. */
  readonly bodyParserSettings: BodyParserSettings
  /** Where the body parser reads what is known of the targets: the newest configuration. */
  readonly serving: ServingTargets
  /**
   * The same services under a changed configuration. What does not follow from a setting that can be reloaded is shared, and so are unchanged
   * upstreams and an unchanged body parser.
   */
  withConfig(config: GatewayConfig): CreatedServices
}

interface ServingTargets {
  config: GatewayConfig
  upstreams: Upstreams
}

type BodyParserSettings = Pick<WorkerBodyParserOptions, 'passRequestFields' | 'maxBytes'> & {
  readonly translator: TranslatorSettings
}

/** The services that follow from settings that can be reloaded. */
type ConfiguredServices = Pick<
  CreatedServices,
  | 'config'
  | 'bodyParser'
  | 'bodyParserSettings'
  | 'serving'
  | 'bodyDiscarder'
  | 'mediaAddresses'
  | 'products'
  | 'translator'
  | 'upstreams'
>

export function createServices(deps: ServiceDeps): CreatedServices {
  const { config, folder, clock, ids, log, telemetry, store, secret, limits, mail, invalidateElsewhere = () => {} } = deps
  const names = deriveNames(config.brand.slug)
  const origins = { site: '', base: '' }
  const calendar = createCalendar(config.timeZone)
  const credentials = new Credentials(store, names, clock, invalidateElsewhere)
  const attemptLimitTable = mergeAttemptLimits(config.limits.attempts)
  const paymentProviders = deps.paymentProviders ?? new Map<string, PaymentProvider>()
  const membership = createMembership({
    store,
    mailer: createMemberMail(mail, {
      brand: config.brand.name,
      linkLifetimeMs: getMagicLinkLifetimeMs(attemptLimitTable),
      origins,
      seller: config.payments,
    }),
    calendar,
    timeZone: config.timeZone,
    sales: {
      providers: paymentProviders,
      packs: config.packs.map(toPackOffer),
      getSite: () => origins.site,
    },
    clock,
    ids,
    secret,
    sessionPrefix: names.sessionPrefix,
    operatorKeyPrefix: names.operatorKeyPrefix,
    groupRoles: Object.fromEntries(
      Object.entries(config.signIn.providers).map(([id, { groups }]) => [id, Object.entries(groups?.roles ?? {})]),
    ),
    groupPlans: Object.fromEntries(
      Object.entries(config.signIn.providers).map(([id, { groups }]) => [id, Object.entries(groups?.plans ?? {})]),
    ),
    oneTimePasswords: createOneTimePasswords({ issuer: config.brand.name, secret, random: (size) => ids.bytes(size) }),
    passkeyProtocol: createPasskeyProtocol({
      name: config.brand.name,
      // Operators prove themselves where the console is.
      getSite: () => config.console.origin ?? origins.site,
      random: (size) => ids.bytes(size),
    }),
    rules: { ...config.signIn, isDisposable: config.signIn.blockDisposable ? createDisposableDomainCheck() : () => false },
    attemptLimitTable,
    boostRules: config.boosts,
    keys: { prefix: names.keyPrefix, perAccount: config.limits.keysPerAccount },
    plans: config.plans,
    defaultPlan: config.defaultPlan,
    maxConcurrentHashes: deps.maxConcurrentHashes,
    onCredentialsChanged: (account) => credentials.invalidateEverywhere(account),
  })
  const purchases: Services['purchases'] = {
    list: (account) => listPurchases({ orders: membership.orders, origins }, account),
    readSpendsPacks: ({ id }) => store.accounts.readSpendsPacks(id),
  }
  const common = {
    names,
    origins,
    clock,
    ids,
    log,
    telemetry,
    store,
    ledger: store.ledger,
    calendar,
    credentials,
    membership,
    paymentProviders,
    orders: membership.orders,
    purchases,
    boosts: membership.boosts,
    jwt: new TrustedIssuers(config.signIn.jwtIssuers, store.accounts, ids, clock, credentials, log),
    limits,
    bodyScheduler: new BodyReadScheduler(() => clock.monotonicMs(), clock),
    images: new ImageStore({
      files: deps.imageFiles ?? new ImageFolder(folder.images, store.images),
      records: store.images,
      limits: config.images,
      clock,
    }),
    secret,
  }
  const combine = (configured: ConfiguredServices): CreatedServices => ({
    ...common,
    ...configured,
    serviceStatus: new ServiceStatusReader({ turnHistory: membership.turnHistory, products: configured.products, clock }),
    withConfig: (next) => combine(createConfiguredServices(deps, next, configured)),
  })
  return combine(createConfiguredServices(deps, config))
}

function createConfiguredServices(deps: ServiceDeps, config: GatewayConfig, previous?: ConfiguredServices): ConfiguredServices {
  const { chatBodyBytes, agentBodyBytes, otherBodyBytes } = config.limits
  const translator: TranslatorSettings = {
    sealKey: deriveSealKey(deps.secret),
    products: listTargetApis(config),
    aliases: {
      responses: config.apiFormats.responses.aliases,
      messages: config.apiFormats.messages.aliases,
      gemini: config.apiFormats.gemini.aliases,
    },
  }
  const bodyParserSettings: BodyParserSettings = {
    passRequestFields: Object.values(config.upstreams).flatMap(({ passRequestFields }) => passRequestFields),
    translator,
    maxBytes: Math.max(chatBodyBytes, agentBodyBytes),
  }
  const upstreams = new Upstreams(config, deps.demoUrl, deps.random, previous?.upstreams)
  const servingParts = Object.assign(previous?.serving ?? {}, { config, upstreams })
  const isSameParser = isDeepStrictEqual(previous?.bodyParserSettings, bodyParserSettings)
  return {
    config,
    bodyParser:
      previous !== undefined && isSameParser ? previous.bodyParser : createBodyParser(deps, bodyParserSettings, servingParts),
    bodyParserSettings,
    serving: servingParts,
    bodyDiscarder: new BodyDiscarder({ maxBytes: 2 * Math.max(chatBodyBytes, agentBodyBytes, otherBodyBytes) }, deps.clock),
    mediaAddresses: new MediaAddressGuard({ upstreams: config.upstreams, monotonicMs: () => deps.clock.monotonicMs() }),
    products: new Products(config),
    translator,
    upstreams,
  }
}

function createBodyParser({ clock, log }: ServiceDeps, settings: BodyParserSettings, serving: ServingTargets): SizedBodyParser {
  const { passRequestFields, translator, maxBytes } = settings
  const create = () =>
    new WorkerBodyParser({
      passRequestFields,
      translator: { url: translatorUrl, settings: translator },
      preparer: { url: preparerUrl, listTargetFacts: () => listTargetFacts(serving.config, serving.upstreams) },
      maxBytes,
      clock,
      onWorkerError: (error) => log.error({ err: error }, 'a body parser thread died; the next large request starts a new one'),
      onCostlyBody: (body) => log.warn(body, 'a body took more CPU time than its size explains and was refused'),
    })
  return new SizedBodyParser({ medium: create(), large: create() })
}

/** Once the address is known under which the server listens. */
export function setOrigins({ origins, config: { listen } }: Pick<CreatedServices, 'origins' | 'config'>, url: string): void {
  origins.site = listen.siteUrl ?? url
  origins.base = listen.baseUrl ?? origins.site
}

/**
 * Logs each product of the configuration that cannot be served.
 * @param earlier the services before a reload, which has logged theirs
 */
export function warnAboutUnservedProducts(
  { products, log }: Pick<Services, 'products' | 'log'>,
  earlier?: Pick<Services, 'products'>,
): void {
  const reportedIds = new Set(earlier?.products.unserved.map(({ id }) => id))
  for (const { id, capabilities } of products.unserved.filter(({ id }) => !reportedIds.has(id)))
    log.warn(
      { product: id },
      `'${id}' is not sold: none of its targets names a model, which a product for ${capabilities.join(' and ')} needs. Name one in its targets; in the shipped configuration UPSTREAM_MODEL_SEARCH and UPSTREAM_MODEL_IMAGE do.`,
    )
}
