/** A notifier on a store of its own, at a simulated clock, whose node reports what the test says. */
import { hostname } from 'node:os'
import type { Test } from 'tap'
import type { GatewayConfig } from '../../../src/config/config.ts'
import type { Notifications } from '../../../src/domain/notification.ts'
import { Notifier } from '../../../src/notifications/notifier.ts'
import type { MetricsJson } from '../../../src/observability/merge-metrics.ts'
import { createIds } from '../../../src/system/ids.ts'
import { testConfig } from '../../support/gateway/test-gateway.ts'

export type NotificationInput = NonNullable<Parameters<typeof testConfig>[1]>['notifications']
type NotifierDeps = ConstructorParameters<typeof Notifier>[1]

export const minuteMs = 60_000
export const hourMs = 60 * minuteMs
export const webhookSecret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`

interface TestOptions {
  readonly at?: number
  /** Other sections of the configuration. */
  readonly overrides?: Parameters<typeof testConfig>[1]
}

export interface TestNotifier {
  readonly notifier: Notifier
  readonly config: GatewayConfig
  readonly clock: { at: number; now(): number; monotonicMs(): number }
  readonly logLines: { readonly level: string; readonly fields: Record<string, unknown>; readonly text: string }[]
  /** Attempts by receiver and outcome. */
  readonly counted: Record<string, number>
  readonly mails: { readonly to: string; readonly subject: string; readonly text: string }[]
  /** Delivers what is due now, and waits for it. */
  deliver(): Promise<void>
  /** Observes and reviews. */
  review(): Promise<void>
}

export function createTestNotifier(
  t: Test,
  store: Notifications,
  notifications: NotificationInput,
  { at = Date.now(), overrides = {}, ...deps }: Partial<NotifierDeps> & TestOptions = {},
): TestNotifier {
  const config = testConfig(t, { ...overrides, notifications })
  const clock = { at, now: () => clock.at, monotonicMs: () => clock.at }
  const logLines: TestNotifier['logLines'] = []
  const counted: Record<string, number> = {}
  const mails: TestNotifier['mails'] = []
  const write = (level: string) => (fields: Record<string, unknown>, text: string) => void logLines.push({ level, fields, text })
  const notifier = new Notifier(config, {
    store,
    clock,
    ids: createIds(),
    log: { info: write('info'), warn: write('warn'), error: write('error') } as unknown as NotifierDeps['log'],
    telemetry: {
      recordNotification(receiver, outcome, count = 1) {
        counted[`${receiver} ${outcome}`] = (counted[`${receiver} ${outcome}`] ?? 0) + count
      },
      recordNotificationState: () => undefined,
    },
    random: () => 0,
    host: hostname(),
    readMetrics: async (): Promise<MetricsJson[]> => [],
    mailNote: () => null,
    isDatabaseFull: () => false,
    deliverMail: async ({ to, subject, text }) => {
      mails.push({ to, subject, text })
      return 'sent'
    },
    // Only a test of timeouts waits for one.
    timeoutMs: 120_000,
    ...deps,
  })
  t.teardown(() => notifier.close())
  return {
    notifier,
    config,
    clock,
    logLines,
    counted,
    mails,
    async deliver() {
      await notifier.deliver(new AbortController().signal)
      await notifier.waitUntilIdle()
    },
    async review() {
      await notifier.observe()
      await notifier.review()
    },
  }
}
