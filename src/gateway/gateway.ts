/**
 * The gateway as one object: built from a checked configuration, opened, closed. `main.ts` runs it, tests and commands build it the
 * same way, so that what is tested is what runs.
 */
import { existsSync } from 'node:fs'
import type { GatewayConfig } from '../config/config.ts'
import { namesOf } from '../config/brand.ts'
import { Calls } from './calls.ts'
import { Chores } from './chores.ts'
import { systemClock } from '../system/clock.ts'
import type { Clock } from '../system/clock.ts'
import { Credentials } from '../access/credentials.ts'
import { DataFolder } from '../system/data-folder.ts'
import { pleasantPace, startDemoUpstream } from '../upstream/demo/upstream.ts'
import type { DemoUpstream } from '../upstream/demo/upstream.ts'
import { GatewayError } from '../errors.ts'
import { LargeBodies } from '../exchange/large/large-bodies.ts'
import { Chain } from '../exchange/run.ts'
import { createApp } from '../http/app.ts'
import { listen } from '../http/listen.ts'
import { listenForMetrics } from '../http/metrics-listener.ts'
import type { Listener } from '../http/listen.ts'
import { ImageStore } from '../tools/images/image-store.ts'
import { createIds } from '../system/ids.ts'
import { createLimits } from '../access/limits.ts'
import { MailRoom } from '../system/mail/mail-room.ts'
import { memberMail } from '../system/mail/member-mail.ts'
import { allowancesWith } from '../membership/allowances.ts'
import { lostPlans } from '../membership/lost-plans.ts'
import { createMembership } from '../membership/membership.ts'
import { calendarOf } from '../membership/period.ts'
import { createLog } from '../system/observe/log.ts'
import { Observe } from '../system/observe/observe.ts'
import { filesAllowed, filesNeeded } from '../system/open-files.ts'
import { Products } from '../config/products.ts'
import { openOwnStore } from './open-store.ts'
import { openSecret } from '../system/secret.ts'
import type { Services } from './services.ts'
import { disposableDomains } from './disposable-domains.ts'
import { TrustedIssuers } from '../access/trusted-issuers.ts'
import { Forwarder } from '../upstream/forward.ts'
import { learnModels } from '../upstream/learn-models.ts'
import { Upstreams } from '../upstream/upstreams.ts'

export interface GatewayOptions {
  readonly config: GatewayConfig
  readonly clock?: Clock
  /** Where log lines go; standard error by default. */
  readonly logTo?: { write(line: string): void }
  /** 0 ≤ n < 1, for choosing among targets. */
  readonly random?: () => number
}

export interface Gateway {
  readonly services: Services
  /** The folder of an installation that began with this start; null where there was one. */
  readonly begunIn: string | null
  /** Where it listens, as in `http://127.0.0.1:8787`. */
  readonly url: string
  /** Where the metrics have a listener of their own. */
  readonly metricsUrl: string | null
  readonly demo: DemoUpstream | null
  readonly forwarder: Forwarder
  /** Not ready any more; running turns finish, within the drain time; the rest end with an error and a refund. */
  close(options?: { readonly drainMs?: number }): Promise<void>
}

/** Whoever scripts it wants it fast; whoever meets it on a first run shall see that it streams. */
function openDemo(scripted: boolean): Promise<DemoUpstream> {
  return startDemoUpstream({ scripted, ...(scripted ? {} : { pace: pleasantPace }) })
}

export async function openGateway(options: GatewayOptions): Promise<Gateway> {
  const { config, clock = systemClock, logTo, random = Math.random } = options
  const ownLog = createLog(config.log.level, logTo)
  const { log } = ownLog
  const folder = new DataFolder(config.store.dataDir)
  const isNew = !folder.hasDatabase()
  const openToOthers = folder.prepare()
  if (openToOthers !== null) log.warn(openToOthers)
  const known = existsSync(folder.secret) ? openSecret(folder.secret) : null
  const store = await openOwnStore(folder, clock, log)
  if (known === null && !isNew) log.warn(`${folder.secret} was gone; with a new one, links to images sent before are void`)
  // A new one is made last, because it says that everything before it was done.
  const secret = known ?? openSecret(folder.secret)
  for (const sentence of await lostPlans(store.accounts, config)) log.warn(sentence)
  const demo = usesDemo(config) ? await openDemo(config.demo.scripted) : null
  const names = namesOf(config.brand.slug)
  const ids = createIds()
  const observe = new Observe(ownLog)
  const upstreams = new Upstreams(config, demo?.url ?? null, random)
  const origins = { site: '', base: '' }
  const calendar = calendarOf(config.timeZone)
  const credentials = new Credentials(store, names, clock)
  const mailRoom = new MailRoom({
    smtpUrl: config.mail.smtpUrl,
    from: config.mail.from,
    outbox: folder.outbox,
    log,
    ids,
    clock,
  })
  const membership = createMembership({
    store,
    mail: memberMail(mailRoom, { brand: config.brand.name, origins }),
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
    forget: (account) => credentials.forgetAccount(account),
  })
  const services: Services = {
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
    jwt: new TrustedIssuers(config.signIn.jwtIssuers, store.accounts, ids, clock, credentials),
    limits: createLimits(),
    largeBodies: new LargeBodies({
      passFields: Object.values(config.upstreams).flatMap(({ passFields }) => passFields),
      mostBytes: config.limits.chatBodyBytes,
      onFault: (error) => log.error({ err: error }, 'the thread for large requests died; the next one gets a new one'),
    }),
    images: new ImageStore({
      directory: folder.images,
      records: store.images,
      limits: config.images,
      clock,
    }),
    products: new Products(config),
    secret,
    upstreams,
  }
  const forwarder = new Forwarder({
    config,
    upstreams,
    clock,
    onAttempt: (target, outcome) => observe.upstreamTried(target, outcome),
  })
  observe.connect({ ledger: store.ledger, upstreams, running: () => forwarder.running, ticks: () => clock.ticks() })
  const calls = new Calls(services, forwarder)
  let ready = true
  const app = createApp({ services, chain: new Chain(config.plugins), calls, ready: () => ready })
  const release = async (owedMs = leastOwedMs): Promise<void> => {
    await mailRoom.close()
    await services.largeBodies.close()
    forwarder.close()
    await calls.close()
    await upstreams.close()
    await demo?.close()
    await store.close({ owedMs })
    observe.close()
  }
  const giveUp = async (error: unknown): Promise<never> => {
    await release()
    throw error
  }
  const metrics = await listenForMetrics(config.metrics, observe).catch(giveUp)
  const listener = await listen(app, services).catch(async (error: unknown) => {
    await metrics?.close()
    return giveUp(error)
  })
  origins.site = config.listen.siteUrl ?? listener.url
  origins.base = config.listen.baseUrl ?? config.listen.siteUrl ?? listener.url
  sayWhatIsMissing(services)
  const stopLearning = learnModels(services)
  const chores = new Chores(services)
  return {
    services,
    begunIn: isNew ? folder.path : null,
    url: listener.url,
    metricsUrl: metrics?.url ?? null,
    demo,
    forwarder,
    async close({ drainMs = config.timeouts.drainMs } = {}) {
      const until = clock.ticks() + drainMs
      ready = false
      stopLearning()
      await drain(listener, { forwarder, largeBodies: services.largeBodies }, { drainMs, noticeMs: config.timeouts.noticeMs })
      await chores.close()
      await metrics?.close()
      // What is owed has what is left of the time, and where that is used up a last try.
      await release(Math.max(leastOwedMs, until - clock.ticks()))
    },
  }
}

/** What works less than the configuration says, told once. */
function sayWhatIsMissing({ products, config, log }: Services): void {
  for (const { id, capabilities } of products.unsold)
    log.warn(
      { product: id },
      `'${id}' is not sold: none of its targets names a model, which a product for ${capabilities.join(' and ')} needs. Name one in its targets; in the shipped configuration UPSTREAM_MODEL_SEARCH and UPSTREAM_MODEL_IMAGE do.`,
    )
  const [needed, allowed] = [filesNeeded(config), filesAllowed()]
  if (allowed !== null && allowed < needed)
    log.warn(
      { allowed, needed },
      `this process may open ${allowed} files, which is about ${Math.max(0, Math.floor((allowed - 256) / 2))} streams at once; for all that the configuration allows, start it with ulimit -n ${needed}`,
    )
}

function usesDemo(config: GatewayConfig): boolean {
  return Object.values(config.upstreams).some(({ baseUrl }) => baseUrl === 'demo')
}

const leastOwedMs = 500

async function drain(
  listener: Listener,
  work: { readonly forwarder: Forwarder; readonly largeBodies: LargeBodies },
  { drainMs, noticeMs }: { readonly drainMs: number; readonly noticeMs: number },
): Promise<void> {
  const late = setTimeout(() => {
    const reason = new GatewayError('internal_error', {
      message: {
        en: 'The service is restarting. This turn was not counted; please send it again.',
        zh: '服务正在重启,本次不计入用量,请重新发送。',
      },
    })
    work.largeBodies.abortAll(reason)
    work.forwarder.abortAll(reason)
    listener.endIdle()
  }, drainMs)
  await listener.announceEnd(Math.min(noticeMs, drainMs))
  await listener.close()
  clearTimeout(late)
}
