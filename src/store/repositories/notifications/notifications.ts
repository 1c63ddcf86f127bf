/** Notifications: receivers, reports of nodes, incidents, events and their deliveries. */
import type { Notifications } from '../../../domain/notification.ts'
import type { Database } from '../../database.ts'
import { createDeliveryRepository } from './deliveries.ts'
import { createIncidentRepository } from './incidents.ts'
import { createReceiverRepository } from './receivers.ts'

export function createNotificationRepository(database: Database): Notifications {
  return { ...createReceiverRepository(database), ...createIncidentRepository(database), ...createDeliveryRepository(database) }
}
