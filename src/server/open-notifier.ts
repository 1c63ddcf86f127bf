/** The notifier of a server, with one serving thread or with several. */
import { hostname } from 'node:os'
import { Notifier } from '../notifications/notifier.ts'
import type { Mailer } from '../mail/mailer.ts'
import type { MetricsJson } from '../observability/merge-metrics.ts'
import type { Services } from '../services/services.ts'

interface NotifierSources {
  readonly mailer: Pick<Mailer, 'note' | 'deliver'>
  /** Random number, 0 ≤ n < 1. */
  readonly random: () => number
  /** Of all threads. */
  readonly readMetrics: () => Promise<readonly MetricsJson[]>
}

export async function openNotifier(
  { config, store, clock, ids, log, telemetry }: Pick<Services, 'config' | 'store' | 'clock' | 'ids' | 'log' | 'telemetry'>,
  { mailer, random, readMetrics }: NotifierSources,
): Promise<Notifier> {
  const notifier = new Notifier(config, {
    store: store.notifications,
    clock,
    ids,
    log,
    telemetry,
    random,
    host: hostname(),
    readMetrics,
    mailNote: () => mailer.note,
    isDatabaseFull: () => store.ledger.stats().isDiskFull ?? false,
    deliverMail: (email, signal) => mailer.deliver(email, signal),
  })
  await notifier.announce()
  return notifier
}
