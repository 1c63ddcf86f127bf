/** The receivers of a configuration: people by mail or chat, and programs by webhook. */
import type { Dispatcher } from 'undici'
import { isAllowedUrl } from '../../access/ssrf-guard.ts'
import type { GatewayConfig } from '../../config/config.ts'
import { incidentKinds, memberEventKinds } from '../../domain/notification.ts'
import type { NotificationEvent, NotificationKind } from '../../domain/notification.ts'
import type { DeliveryOutcome } from '../../domain/member-mailer.ts'
import { renderNotificationEmail } from '../../mail/templates/notification-email.ts'
import type { AddressedEmail } from '../../mail/smtp/smtp-transport.ts'
import { renderMessage, renderWebhookBody } from '../render-event.ts'
import { describeRequestError, postJson, privateAddressReason } from './post-json.ts'
import type { OutgoingRequest, PostOptions } from './post-json.ts'
import { findRefusal, presets } from './presets.ts'
import type { PersonReceiver } from './presets.ts'
import type { ReceiverConnections } from './receiver-connections.ts'
import { isQuiet } from './quiet-hours.ts'
import { signWebhook } from './sign-webhook.ts'

/** What became of an attempt. */
export interface Attempt {
  readonly status: number | null
  /** Null: delivered. Without an address or a secret. */
  readonly reason: string | null
  /** When the receiver wants the next attempt. */
  readonly retryAfterMs: number | null
  /** Whether the receiver wants no further request at all (410). */
  readonly isGone: boolean
}

export interface Receiver {
  readonly name: string
  readonly kinds: ReadonlySet<NotificationKind>
  readonly maxPerMinute: number
  /** The origin to which requests go; null for mail. */
  readonly origin: string | null
  /** Carries requests to the origin. */
  readonly dispatcher: Dispatcher
  /** During quiet hours: the kinds that are reported all the same. Null: all are. */
  findAllowedKinds(now: number): readonly NotificationKind[] | null
  /** Never rejects. */
  send(event: NotificationEvent, options: SendOptions): Promise<Attempt>
}

export interface SendOptions {
  /** Instant of this attempt. */
  readonly now: number
  readonly signal: AbortSignal
}

export interface ReceiverDeps {
  readonly deliverMail: (email: AddressedEmail, signal: AbortSignal) => Promise<DeliveryOutcome>
  readonly connections: Pick<ReceiverConnections, 'find'>
  readonly timeoutMs?: number
}

const defaultTimeoutMs = 15_000
/** Programs are built for many requests; one that is not answers 429. */
const webhooksPerMinute = 6_000
const mailsPerMinute = 60

export function createReceivers(
  { notifications: { people, webhooks }, brand, timeZone }: Pick<GatewayConfig, 'notifications' | 'brand' | 'timeZone'>,
  deps: ReceiverDeps,
): readonly Receiver[] {
  const { timeoutMs = defaultTimeoutMs, connections, deliverMail } = deps
  const post = async (
    outgoing: OutgoingRequest,
    allowPrivate: boolean,
    signal: AbortSignal,
    findReason: (answer: {
      readonly status: number
      readonly text: string | null
      readonly retryAfterMs: number | null
    }) => string | null,
  ): Promise<Attempt> => {
    const options: PostOptions = { timeoutMs, signal, dispatcher: connections.find(allowPrivate) }
    // A literal address is never resolved.
    if (!allowPrivate && !isAllowedUrl(new URL(outgoing.url)))
      return { status: null, reason: privateAddressReason, retryAfterMs: null, isGone: false }
    try {
      const answer = await postJson(outgoing, options)
      const { status, retryAfterMs } = answer
      return { status, reason: findReason(answer), retryAfterMs, isGone: status === 410 }
    } catch (error) {
      return { status: null, reason: describeRequestError(error), retryAfterMs: null, isGone: false }
    }
  }
  const createPerson = ([name, receiver]: [string, PersonReceiver]): Receiver => {
    const { kind, events, quietHours, to, allowPrivate } = receiver
    return {
      name,
      kinds: new Set(events === 'all' ? incidentKinds : events),
      maxPerMinute: kind === 'mail' ? mailsPerMinute : presets[kind].maxPerMinute,
      origin: kind === 'mail' ? null : new URL(createRequest(kind, receiver, 0)(createTestEvent(0, 'test')).url).origin,
      dispatcher: connections.find(allowPrivate),
      findAllowedKinds: (now) => (quietHours !== null && isQuiet(quietHours, now, timeZone) ? quietHours.except : null),
      async send(event, { now, signal }) {
        if (kind !== 'mail')
          return post(createRequest(kind, receiver, now)(event), allowPrivate, signal, (answer) => findRefusal(kind, answer))
        const outcome = await deliverMail(
          { to: to ?? '', ...renderNotificationEmail(brand, renderMessage(event, brand.name)) },
          signal,
        )
        return { status: null, reason: mailReasons[outcome], retryAfterMs: null, isGone: false }
      },
    }
  }
  const createRequest =
    (kind: Exclude<PersonReceiver['kind'], 'mail'>, receiver: PersonReceiver, now: number) =>
    (event: NotificationEvent): OutgoingRequest => {
      const { body, ...others } = presets[kind].createRequest(receiver, renderMessage(event, brand.name), now)
      return { ...others, body: JSON.stringify(body) }
    }
  return [
    ...Object.entries(people).map(createPerson),
    ...Object.entries(webhooks).map(([name, { url, secret, previousSecret, events, allowPrivate }]): Receiver => ({
      name,
      kinds: new Set(events === 'all' ? [...incidentKinds, ...memberEventKinds] : events),
      maxPerMinute: webhooksPerMinute,
      origin: new URL(url).origin,
      dispatcher: connections.find(allowPrivate),
      findAllowedKinds: () => null,
      send(event, { now, signal }) {
        const body = renderWebhookBody(event)
        const secrets = previousSecret === null ? [secret] : [secret, previousSecret]
        const headers = signWebhook({ id: event.messageId, at: now, body }, secrets)
        return post({ url, headers, body }, allowPrivate, signal, ({ status }) =>
          status >= 200 && status <= 299 ? null : `HTTP ${status}`,
        )
      },
    })),
  ]
}

const mailReasons: Readonly<Record<DeliveryOutcome, string | null>> = {
  sent: null,
  unavailable: 'the mail server cannot be used',
  rejected: 'the mail server refused it',
  unknown: 'the mail server took it and gave no answer',
}

/** What `svc-gateway notify test` sends. */
export function createTestEvent(at: number, messageId: string): NotificationEvent {
  const detail = { text: 'This receiver gets notifications of svc-gateway.' }
  return { messageId, kind: 'test', phase: 'once', account: null, subject: null, detail, at }
}
