/** The operator API, `/api/operator/v1`. */
import type { RouteDeps } from '../../route-deps.ts'
import type { Router } from '../../../system/vendor/koa-router.ts'
import { createServeOperatorEndpoint } from '../../operator-endpoint.ts'
import { mountMemberReads } from './member-reads.ts'
import { mountMemberWrites } from './member-writes.ts'
import { mountNoticeWrites } from './notices.ts'
import { mountOperatorRecords } from './records.ts'
import { mountOrders } from './orders.ts'
import { mountTurnHistory } from './turn-history.ts'
import { mountRouting } from './routing.ts'
import { mountOperatorRoutes } from './operators.ts'

export function mountOperatorApi(router: Router, deps: RouteDeps): void {
  const serve = createServeOperatorEndpoint(router, deps.services)
  mountMemberReads(serve, deps.services)
  mountMemberWrites(serve, deps.services)
  mountTurnHistory(serve, deps.services)
  mountOrders(serve, deps.services)
  mountRouting(serve, deps)
  mountOperatorRecords(serve, deps)
  mountNoticeWrites(serve, deps.services)
  mountOperatorRoutes(serve, deps.services)
}
