/** Whether receivers of notifications can be reached, and whether they take what they are sent. No message is sent. */
import { request } from 'undici'
import type { GatewayConfig } from '../../../config/config.ts'
import { ReceiverConnections } from '../../../notifications/receivers/receiver-connections.ts'
import { createReceivers } from '../../../notifications/receivers/receiver.ts'
import { describeRequestError } from '../../../notifications/receivers/post-json.ts'
import type { HealthCheck } from '../../../services/health/health-checks.ts'
import { systemClock } from '../../../system/clock.ts'
import { DataFolder } from '../../../system/data-folder/data-folder.ts'
import { formatDuration } from '../../../system/duration.ts'
import { withInstallation } from '../../installation.ts'
import { describeError } from './describe-error.ts'
import { pluralize } from '../../output.ts'

const timeoutMs = 10_000

export async function checkNotifications(config: GatewayConfig): Promise<HealthCheck[]> {
  const connections = new ReceiverConnections()
  try {
    const receivers = createReceivers(config, { connections, deliverMail: async () => 'unavailable' })
    if (receivers.length === 0) return []
    const reachable = await Promise.all(
      receivers.map(async ({ name, origin, dispatcher }): Promise<HealthCheck> => {
        const what = `receiver ${name}`
        if (origin === null) return { what, ok: true, detail: 'is sent emails; try one: svc-gateway notify test' }
        try {
          const { body } = await request(origin, { method: 'HEAD', dispatcher, signal: systemClock.deadline(timeoutMs) })
          await body.dump()
          return { what, ok: true, detail: `${origin} answers; try a message: svc-gateway notify test ${name}` }
        } catch (error) {
          return { what, ok: false, detail: `${origin} cannot be reached (${describeRequestError(error)})` }
        }
      }),
    )
    return [...reachable, ...(await checkDeliveries(config))]
  } finally {
    await connections.destroy()
  }
}

async function checkDeliveries({ store: { url, dataDir } }: GatewayConfig): Promise<HealthCheck[]> {
  if (url === null && !new DataFolder(dataDir).hasDatabase()) return []
  const what = 'notifications'
  return withInstallation(async ({ config, store: { notifications } }) => {
    const { people, webhooks } = config.notifications
    const now = systemClock.now()
    const waitingCounts = await notifications.countWaiting()
    const faults = (await notifications.listReceivers()).flatMap(({ name, failingSince, offSince }): HealthCheck[] => {
      if (!Object.hasOwn(people, name) && !Object.hasOwn(webhooks, name)) return []
      const count = pluralize(waitingCounts.get(name) ?? 0, 'notification waits', 'notifications wait')
      if (offSince !== null)
        return [
          {
            what,
            ok: false,
            detail: `${name} is switched off, and ${count}; repair it and run: svc-gateway notify enable ${name}`,
          },
        ]
      if (failingSince === null) return []
      const failureDuration = formatDuration(Math.max(0, now - failingSince))
      return [
        {
          what,
          ok: false,
          detail: `${name} has taken none for ${failureDuration}, and ${count}: svc-gateway notify log --receiver ${name}`,
        },
      ]
    })
    const incidents = (await notifications.listIncidents()).map(({ kind, text }): HealthCheck => ({
      what,
      ok: true,
      detail: `an incident is open (${kind}): ${text}`,
    }))
    return [...faults, ...incidents]
  }).catch((error: unknown) => [{ what, ok: false, detail: describeError(error) }])
}
