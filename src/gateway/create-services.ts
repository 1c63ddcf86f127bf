/** The services of one thread that serves, made of what its process has once. */
import type { Logger } from 'pino'
import type { Limits } from '../access/limits/limits.ts'
import { Credentials } from '../access/credentials.ts'
import { TrustedIssuers } from '../access/trusted-issuers.ts'
import type { GatewayConfig } from '../config/config.ts'
import { namesOf } from '../config/brand.ts'
import { Products } from '../config/products.ts'
import { LargeBodies } from '../exchange/large/large-bodies.ts'
import { InTurn } from '../http/in-turn.ts'
import { allowancesWith } from '../membership/allowances.ts'
import { createMembership } from '../membership/membership.ts'
import { calendarOf } from '../membership/period.ts'
import type { ImageFiles } from '../membership/image.ts'
import type { Store } from '../membership/store.ts'
import type { Clock } from '../system/clock.ts'
import type { DataFolder } from '../system/data-folder.ts'
import type { Ids } from '../system/ids.ts'
import type { MailRoom } from '../system/mail/mail-room.ts'
import { memberMail } from '../system/mail/member-mail.ts'
import type { Observe } from '../system/observe/observe.ts'
import { ImageFolder } from '../tools/images/image-folder.ts'
import { ImageStore } from '../tools/images/image-store.ts'
import { Upstreams } from '../upstream/upstreams.ts'
import { disposableDomains } from './disposable-domains.ts'
import type { Services } from './services.ts'

export interface ServicesParts {
  readonly config: GatewayConfig
  readonly folder: DataFolder
  readonly clock: Clock
  readonly ids: Ids
  readonly log: Logger
  readonly observe: Observe
  readonly store: Store
  readonly secret: Buffer
  readonly limits: Limits
  /** Where images lie; null: in the data folder. */
  readonly imageFiles: ImageFiles | null
  readonly mail: Pick<MailRoom, 'post'>
  /** Where the built-in demonstration upstream listens; null: there is none. */
  readonly demoUrl: string | null
  /** 0 ≤ n < 1, for choosing among targets. */
  readonly random: () => number
  /** Passwords hashed at once. */
  readonly hashesAtOnce: number
  /** Tells whoever else of this process remembers accounts that this one has changed. */
  readonly forget?: (account: string) => void
}

export interface MadeServices extends Services {
  /** Filled in once it is known where the server listens. */
  readonly origins: { site: string; base: string }
}

export function createServices(parts: ServicesParts): MadeServices {
  const { config, folder, clock, ids, log, observe, store, secret, limits, mail, forget = () => {} } = parts
  const names = namesOf(config.brand.slug)
  const origins = { site: '', base: '' }
  const calendar = calendarOf(config.timeZone)
  const credentials = new Credentials(store, names, clock, forget)
  const membership = createMembership({
    store,
    mail: memberMail(mail, { brand: config.brand.name, origins }),
    calendar,
    clock,
    ids,
    secret,
    sessionPrefix: names.sessionPrefix,
    rules: { ...config.signIn, isDisposable: config.signIn.blockDisposable ? disposableDomains() : () => false },
    allowances: allowancesWith(config.limits.attempts),
    boosts: config.boosts,
    keys: { prefix: names.keyPrefix, perAccount: config.limits.keysPerAccount },
    defaultPlan: config.defaultPlan,
    hashesAtOnce: parts.hashesAtOnce,
    forget: (account) => credentials.forgetAccount(account),
  })
  return {
    config,
    names,
    origins,
    clock,
    ids,
    log,
    observe,
    store,
    ledger: store.ledger,
    calendar,
    credentials,
    membership,
    jwt: new TrustedIssuers(config.signIn.jwtIssuers, store.accounts, ids, clock, credentials, log),
    limits,
    largeBodies: new LargeBodies({
      passFields: Object.values(config.upstreams).flatMap(({ passFields }) => passFields),
      mostBytes: config.limits.chatBodyBytes,
      onFault: (error) => log.error({ err: error }, 'the thread for large requests died; the next one gets a new one'),
    }),
    longBodies: new InTurn(() => clock.ticks()),
    images: new ImageStore({
      files: parts.imageFiles ?? new ImageFolder(folder.images, store.images),
      records: store.images,
      limits: config.images,
      clock,
    }),
    products: new Products(config),
    secret,
    upstreams: new Upstreams(config, parts.demoUrl, parts.random),
  }
}

/** What works less than the configuration says, told once. */
export function sayWhatIsMissing({ products, log }: Pick<Services, 'products' | 'log'>): void {
  for (const { id, capabilities } of products.unsold)
    log.warn(
      { product: id },
      `'${id}' is not sold: none of its targets names a model, which a product for ${capabilities.join(' and ')} needs. Name one in its targets; in the shipped configuration UPSTREAM_MODEL_SEARCH and UPSTREAM_MODEL_IMAGE do.`,
    )
}
