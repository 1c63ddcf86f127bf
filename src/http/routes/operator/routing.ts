/** Products and their targets as operators see them, and what operators do with a target. */
import type { ResponseOf } from '../../../api/endpoint.ts'
import {
  bringBackTarget as bringBackTargetEndpoint,
  listTakenOutTargets,
  showRouting,
  takeOutTarget as takeOutTargetEndpoint,
  tryTarget,
} from '../../../api/operator/routing.ts'
import { listScopes } from '../../../domain/identity/operators/operator-actor.ts'
import { formatInstant } from '../../../domain/instant.ts'
import type { TakenOutTarget } from '../../../domain/taken-out-target.ts'
import { readRouting } from '../../../services/routing/routing-report.ts'
import { bringBackTarget, takeOutTarget } from '../../../services/routing/target-routing.ts'
import { tryRoute } from '../../../services/routing/target-trial.ts'
import type { ServeOperatorEndpoint } from '../../operator-endpoint.ts'
import type { RouteDeps } from '../../route-deps.ts'
import { toTotals } from './turn-history.ts'

export function mountRouting(serve: ServeOperatorEndpoint, { services, operations }: RouteDeps): void {
  const { store, clock, membership } = services

  serve(showRouting, async ({ actor, query: { span } }) => {
    const { behindMs } = await membership.turnHistory.readProgress()
    const [report, node, takenOut] = await Promise.all([
      readRouting(span, services),
      operations.readFigures(),
      store.takenOutTargets.list(clock.now()),
    ])
    const showsMoney = listScopes(actor).includes('money:read')
    return {
      from: formatInstant(report.from),
      to: formatInstant(report.to),
      products: report.products.map(({ id, rate, totals, routes }) => ({
        id,
        success_share: rate.share,
        totals: totals && toTotals(totals, showsMoney),
        targets: routes.map((route) => {
          const live = node.targets.find(({ target }) => target === route.name)
          const out = takenOut.find(({ target }) => target === route.name)
          const failure = live?.lastFailure ?? null
          return {
            target: route.name,
            is_configured: route.target !== undefined,
            breaker: live?.breaker ?? null,
            last_failure: failure && { outcome: failure.outcome, at: formatInstant(failure.at) },
            taken_out: out === undefined ? null : toTakenOut(out),
            margin_nanodollars: showsMoney ? (route.money?.margin ?? null) : null,
            success_share: route.rate.share,
            totals: route.totals && toTotals(route.totals, showsMoney),
          }
        }),
      })),
      behind_ms: behindMs,
    }
  })

  serve(listTakenOutTargets, async () => ({
    object: 'list',
    data: (await store.takenOutTargets.list(clock.now())).map(toTakenOut),
  }))

  serve(takeOutTargetEndpoint, async ({ body: { target, minutes, allow_last: allowsLast, reason }, author }) =>
    toTakenOut(await takeOutTarget({ target, minutes, allowsLast }, { ...author, reason }, services)),
  )

  serve(bringBackTargetEndpoint, async ({ body: { target }, author }) => {
    await bringBackTarget(target, author, services)
    return { ok: true, target }
  })

  serve(tryTarget, async ({ body: { target, product }, author }) => {
    const subject = target === undefined ? { product: product ?? '' } : { target }
    const { failure, ...trial } = await tryRoute(subject, author, services)
    return {
      target: trial.target,
      status: trial.status,
      duration_ms: trial.durationMs,
      first_token_ms: trial.firstTokenMs,
      failure: failure && { code: failure.code, message: failure.message, message_zh: failure.messageZh },
    }
  })
}

function toTakenOut({ target, takenOutAt, until, reason }: TakenOutTarget): ResponseOf<typeof takeOutTargetEndpoint> {
  return { target, since: formatInstant(takenOutAt), until: formatInstant(until), reason }
}
