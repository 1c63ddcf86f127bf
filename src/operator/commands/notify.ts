/** `svc-gateway notify`: tries receivers of notifications, and shows and repeats deliveries. */
import { loadConfig } from '../../config/config.ts'
import type { GatewayConfig } from '../../config/config.ts'
import { formatInstant } from '../../domain/instant.ts'
import type { DeliveryRecord, DeliveryState } from '../../domain/notification.ts'
import { ReceiverConnections } from '../../notifications/receivers/receiver-connections.ts'
import { createReceivers, createTestEvent } from '../../notifications/receivers/receiver.ts'
import type { ReceiverDeps } from '../../notifications/receivers/receiver.ts'
import { systemClock } from '../../system/clock.ts'
import { createIds } from '../../system/ids.ts'
import { formatTime, formatZone } from '../../system/terminal/format-time.ts'
import { deliverEmail } from '../deliver-email.ts'
import { CommandError, withInstallation } from '../installation.ts'
import { drawTable, formatCell, formatCellTime, formatTable, pluralize, renderResult } from '../output.ts'
import type { CommandResult, OutputOptions } from '../output.ts'
import { parseWholeNumber } from './boost.ts'

const deliveryStates: readonly DeliveryState[] = ['waiting', 'delivered', 'failed']

/** Sends a test message to all receivers, or to the named one. It needs no server and leaves no trace in the delivery log. */
export async function testReceivers(name: string | undefined, options: OutputOptions): Promise<CommandResult> {
  const config = await loadConfig()
  const connections = new ReceiverConnections()
  try {
    const installation = { config, ids: createIds(), clock: systemClock }
    const deliverMail: ReceiverDeps['deliverMail'] = async (email, signal) =>
      (await deliverEmail(installation, email, signal)).outcome
    const receivers = createReceivers(config, { connections, deliverMail })
    const chosenReceivers = name === undefined ? receivers : receivers.filter((receiver) => receiver.name === name)
    if (chosenReceivers.length === 0) {
      const names = receivers.map((receiver) => receiver.name)
      throw createMissingReceiverError(names, name)
    }
    const { now } = systemClock
    const messageId = createIds().next('msg_', now())
    const results = await Promise.all(
      chosenReceivers.map(async (receiver) => {
        const sendOptions = { now: now(), signal: new AbortController().signal }
        const { status, reason } = await receiver.send(createTestEvent(now(), messageId), sendOptions)
        return { receiver: receiver.name, ok: reason === null, status, reason }
      }),
    )
    const ok = results.every((result) => result.ok)
    const renderText = () =>
      formatTable(
        ['', 'receiver', 'result'],
        results.map((result) => [result.ok ? 'ok' : '!!', result.receiver, result.reason ?? 'took the test message']),
      )
    return renderResult(options, { ok, results }, renderText, ok)
  } finally {
    await connections.destroy()
  }
}

function createMissingReceiverError(names: readonly string[], name: string | undefined): CommandError {
  return new CommandError(
    names.length === 0
      ? 'No receiver is configured. Name one in notifications.people or notifications.webhooks.'
      : `There is no receiver '${name}'. Receivers: ${names.join(', ')}.`,
  )
}

/** @throws CommandError */
function requireReceiver({ notifications: { people, webhooks } }: GatewayConfig, name: string): void {
  const names = [...Object.keys(people), ...Object.keys(webhooks)]
  if (!names.includes(name)) throw createMissingReceiverError(names, name)
}

/** Lists the receivers with what waits for them, and the open incidents. */
export function listReceivers(options: OutputOptions): Promise<CommandResult> {
  return withInstallation(async ({ config, store: { notifications }, clock }) => {
    const { people, webhooks } = config.notifications
    const states = new Map((await notifications.listReceivers()).map((state) => [state.name, state]))
    const waitingCounts = await notifications.countWaiting()
    const incidents = await notifications.listIncidents()
    const kinds = [
      ...Object.entries(people).map(([name, { kind }]) => ({ name, kind })),
      ...Object.keys(webhooks).map((name) => ({ name, kind: 'webhook' })),
    ]
    const now = clock.now()
    const receivers = kinds.map(({ name, kind }) => {
      const { failingSince = null, offSince = null } = states.get(name) ?? {}
      return { name, kind, waiting: waitingCounts.get(name) ?? 0, failingSince, offSince }
    })
    return renderResult(
      options,
      {
        receivers: receivers.map(({ name, kind, waiting: count, failingSince, offSince }) => ({
          name,
          kind,
          waiting: count,
          failing_since: formatInstant(failingSince),
          off_since: formatInstant(offSince),
        })),
        incidents: incidents.map(({ kind, subject, text, beganAt }) => ({
          kind,
          subject,
          text,
          began_at: formatInstant(beganAt),
        })),
      },
      () =>
        [
          formatTable(
            ['receiver', 'kind', 'waiting', `failing since (${formatZone(now)})`, 'switched off'],
            receivers.map(({ name, kind, waiting: count, failingSince, offSince }) => [
              name,
              kind,
              count,
              formatCellTime(failingSince, now),
              formatCellTime(offSince, now),
            ]),
          ),
          ...(incidents.length === 0
            ? ['No incident is open.']
            : incidents.map(({ kind, text, beganAt }) => `${formatTime(beganAt, 'en', now)} ${kind}: ${text}`)),
        ].join('\n'),
    )
  })
}

/** The delivery log, newest first. */
export function listDeliveries(
  options: OutputOptions & { receiver?: string; state?: string; limit: string },
): Promise<CommandResult> {
  return withInstallation(async ({ config, store, clock }) => {
    const state = parseState(options.state)
    const deliveries = await store.notifications.list({
      limit: parseWholeNumber('--limit', options.limit),
      ...(options.receiver === undefined ? {} : { receiver: options.receiver }),
      ...(state === undefined ? {} : { state }),
    })
    // The log also has receivers that were configured earlier.
    if (deliveries.length === 0 && options.receiver !== undefined) requireReceiver(config, options.receiver)
    const now = clock.now()
    return renderResult(options, { object: 'list', data: deliveries.map(toJson) }, () =>
      drawTable(deliveries, [
        { heading: 'id', cell: ({ id }) => String(id), align: 'right' },
        { heading: `at (${formatZone(now)})`, cell: ({ createdAt }) => formatTime(createdAt, 'en', now) },
        { heading: 'receiver', cell: ({ receiver }) => receiver },
        { heading: 'event', cell: ({ kind, phase }) => (phase === 'once' ? kind : `${kind} ${phase}`) },
        { heading: 'about', cell: ({ account, subject }) => formatCell(account ?? subject), drop: 2 },
        { heading: 'state', cell: (delivery) => describeState(delivery, now) },
        { heading: 'attempts', cell: ({ attempts }) => String(attempts), align: 'right', drop: 1 },
        { heading: 'failure', cell: ({ state: current, reason }) => formatCell(current === 'delivered' ? null : reason) },
      ]),
    )
  })
}

function describeState({ state, dueAt }: DeliveryRecord, now: number): string {
  return state === 'waiting' && dueAt > now ? `waiting until ${formatTime(dueAt, 'en', now)}` : state
}

function toJson(delivery: DeliveryRecord) {
  const { id, receiver, messageId, kind, phase, account, subject, state, attempts, status, reason } = delivery
  return {
    id,
    receiver,
    message_id: messageId,
    kind,
    phase,
    account,
    subject,
    state,
    attempts,
    status,
    reason,
    created_at: formatInstant(delivery.createdAt),
    due_at: state === 'waiting' ? formatInstant(delivery.dueAt) : null,
    ended_at: formatInstant(delivery.endedAt),
  }
}

function parseState(text: string | undefined): DeliveryState | undefined {
  const state = deliveryStates.find((each) => each === text)
  if (text !== undefined && state === undefined)
    throw new CommandError(`--state must be one of ${deliveryStates.join(', ')}, not '${text}'.`)
  return state
}

/** Lets the server make deliveries again: the named ones, or those of a receiver that have failed. */
export function redeliver(ids: readonly string[], options: OutputOptions & { receiver?: string }): Promise<CommandResult> {
  if ((ids.length === 0) === (options.receiver === undefined))
    throw new CommandError('Name the deliveries by their ids (svc-gateway notify log), or a receiver with --receiver.')
  return withInstallation(async ({ config, store, clock }) => {
    if (options.receiver !== undefined) requireReceiver(config, options.receiver)
    const which =
      options.receiver === undefined
        ? { ids: ids.map((id) => parseWholeNumber('The id', id)) }
        : { receiver: options.receiver, state: 'failed' as const }
    const count = await store.notifications.redeliver(which, clock.now())
    const requestedCount = new Set(ids.map(Number)).size
    if (count < requestedCount)
      throw new CommandError(
        count === 0
          ? 'None of these deliveries exists.'
          : `Only ${count} of these ${requestedCount} deliveries ${count === 1 ? 'exists; it is' : 'exist; they are'} made again.`,
      )
    return renderResult(
      options,
      { ok: true, count },
      () => `${pluralize(count, 'delivery is', 'deliveries are')} made again within seconds.`,
    )
  })
}

/** Switches a receiver on that was switched off because it failed for a day. */
export function enableReceiver(name: string, options: OutputOptions): Promise<CommandResult> {
  return withInstallation(async ({ config, store, clock }) => {
    requireReceiver(config, name)
    const wasOff = await store.notifications.switchOn(name, clock.now())
    return renderResult(options, { ok: true, was_off: wasOff }, () =>
      wasOff ? `${name} is switched on; what waits for it is delivered within seconds.` : `${name} was on already.`,
    )
  })
}
