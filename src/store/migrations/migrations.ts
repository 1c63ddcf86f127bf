/** Every schema change, in order and for both databases. New ones are added at the end; released ones never change. */
import { initialSchema } from './0001-initial/initial-schema.ts'
import { sharedDatabase } from './0002-shared-database.ts'
import { invitePerson } from './0003-invite-person.ts'
import { notifications } from './0004-notifications.ts'
import { turnCost } from './0005-turn-cost.ts'
import { subscriptions } from './0006-subscriptions.ts'
import { redeemCodes } from './0007-redeem-codes.ts'
import { orders } from './0008-orders.ts'
import { operators } from './0009-operators.ts'
import { saleRecords } from './0010-sale-records.ts'
import { turnHistory } from './0011-turn-history.ts'
import { notices } from './0012-notices.ts'
import { passkeys } from './0013-passkeys.ts'
import { takenOutTargets } from './0014-taken-out-targets.ts'
import { moneyLists } from './0015-money-lists.ts'
import { groupPlans } from './0016-group-plans.ts'
import { turnPlans } from './0017-turn-plans.ts'
import type { Migration } from './migration.ts'

export const migrations: readonly Migration[] = [
  initialSchema,
  sharedDatabase,
  invitePerson,
  notifications,
  turnCost,
  subscriptions,
  redeemCodes,
  orders,
  operators,
  saleRecords,
  turnHistory,
  notices,
  passkeys,
  takenOutTargets,
  moneyLists,
  groupPlans,
  turnPlans,
]
