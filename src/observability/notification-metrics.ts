/** The metrics of notifications. Receivers are those of the configuration. */
import type prom from 'prom-client'

interface MetricFactory {
  counter<Label extends string>(options: Omit<prom.CounterConfiguration<Label>, 'registers' | 'collect'>): prom.Counter<Label>
  gauge<Label extends string>(options: Omit<prom.GaugeConfiguration<Label>, 'registers' | 'collect'>): prom.Gauge<Label>
}

export type NotificationOutcome = 'delivered' | 'retried' | 'failed'

export function createNotificationMetrics({ counter, gauge }: MetricFactory) {
  return {
    notifications: counter({
      name: 'svc_notifications_total',
      help: 'Attempts to deliver a notification, by receiver and outcome: delivered, retried (failed, another attempt follows), failed (given up).',
      labelNames: ['receiver', 'outcome'],
      aggregator: 'first',
    }),
    notificationsWaiting: gauge({
      name: 'svc_notifications_waiting',
      help: 'Notifications that are not delivered yet, by receiver.',
      labelNames: ['receiver'],
      aggregator: 'first',
    }),
    notificationReceiverOff: gauge({
      name: 'svc_notification_receiver_off',
      help: 'Whether a receiver is switched off after it failed for a day: 0 is good.',
      labelNames: ['receiver'],
      aggregator: 'first',
    }),
    incidentsOpen: gauge({
      name: 'svc_incidents_open',
      help: 'Incidents that notifications report and that are not over, by kind; absent without receivers.',
      labelNames: ['kind'],
      aggregator: 'first',
    }),
  }
}
