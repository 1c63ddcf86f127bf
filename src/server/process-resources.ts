/** Resources that a server has once for all its threads: the data folder, the store, mail, and the demo upstream. */
import type { GatewayConfig } from '../config/config.ts'
import { toOutgoingMail } from '../config/outgoing-mail.ts'
import { describeMissingPlans } from '../domain/services/missing-plans.ts'
import type { Clock } from '../system/clock.ts'
import { DataFolder } from '../system/data-folder/data-folder.ts'
import type { Ids } from '../system/ids.ts'
import { Mailer } from '../mail/mailer.ts'
import type { DemoUpstream } from '../demo-upstream/server.ts'
import { openPaymentProviders } from '../payments/open-payment-providers.ts'
import { openSqliteInstallation } from './installation/installation.ts'
import type { InstallationOptions, Installation } from './installation/installation.ts'
import type { PaymentProvider } from '../domain/billing/orders/payment-provider.ts'
import type { Services } from '../services/services.ts'

interface ProcessResourceOptions {
  readonly config: GatewayConfig
  readonly clock: Clock
  readonly ids: Ids
  readonly log: Services['log']
  /** Starts the upstream `demo`. */
  readonly startDemo: (clock: Clock) => Promise<DemoUpstream>
}

export interface ProcessResources extends Installation {
  readonly folder: DataFolder
  readonly demo: DemoUpstream | null
  readonly mailer: Mailer
  /** From now on calls the listener with the reason why the store refuses new turns, or null when it recovers; the log has it first. */
  onHealthChange(listener: (reason: string | null) => void): void
  readonly paymentProviders: ReadonlyMap<string, PaymentProvider>
  /** Closes everything; call it after the last thread has stopped serving. */
  close(flushTimeoutMs: number): Promise<void>
}

export async function openProcessResources({
  config,
  clock,
  ids,
  log,
  startDemo,
}: ProcessResourceOptions): Promise<ProcessResources> {
  const folder = new DataFolder(config.store.dataDir)
  let reportHealth = (_reason: string | null): void => undefined
  const installation = await openInstallation({ config, folder, clock, log, onHealthChange: (reason) => reportHealth(reason) })
  const { store, emailQueue, secret } = installation
  const paymentProviders = await openPaymentProviders(config, { clock, secret, folder }).catch(async (error: unknown) => {
    await store.close({ flushMs: 0 })
    throw error
  })
  for (const sentence of await describeMissingPlans(store.accounts, config)) log.warn(sentence)
  const demo = usesDemo(config) ? await startDemo(clock) : null
  const mailer = new Mailer({ mail: toOutgoingMail(config), log, ids, clock, queue: emailQueue })
  return {
    ...installation,
    folder,
    demo,
    mailer,
    onHealthChange(listener) {
      reportHealth = listener
    },
    paymentProviders,
    async close(flushTimeoutMs) {
      await mailer.close()
      await demo?.close()
      await store.close({ flushMs: flushTimeoutMs })
    },
  }
}

/** PostgreSQL code is loaded only where it is configured. */
async function openInstallation(options: InstallationOptions): Promise<Installation> {
  const { url, secretKey } = options.config.store
  if (url === null) return openSqliteInstallation(options)
  const { openPostgresInstallation } = await import('./installation/postgres-installation.ts')
  return openPostgresInstallation(options, { url, secretKey })
}

function usesDemo(config: GatewayConfig): boolean {
  return Object.values(config.upstreams).some(({ baseUrl }) => baseUrl === 'demo')
}
