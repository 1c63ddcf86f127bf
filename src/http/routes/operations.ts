/** What keeps us alive asks here: `/healthz`, `/readyz`, `/metrics`. */
import { createHash, timingSafeEqual } from 'node:crypto'
import type { Router } from '@koa/router'
import type { Context } from 'koa'
import { networks } from '../../networks.ts'
import { GatewayError } from '../../errors.ts'
import { isTrusted } from '../address.ts'
import type { House } from '../house.ts'
import type { DoorState } from '../door.ts'

/** More operations waiting for the writer than this, and new turns only make it worse. */
const fullQueue = 5_000

export function operationRoutes(router: Router, house: House): void {
  const { services } = house
  const allowed = networks(['127.0.0.0/8', '::1', ...services.config.metrics.allow])

  // No dependency: a probe that asked the database would turn one outage into two.
  router.get('/healthz', (ctx) => {
    ctx.body = { ok: true }
  })

  router.get('/readyz', (ctx) => {
    const { writable, queue } = services.ledger.vitals()
    const reasons = [
      !house.ready() && 'draining',
      !writable && 'the ledger cannot be written',
      queue > fullQueue && 'the ledger is behind',
    ]
    const because = reasons.filter((reason) => reason !== false)
    ctx.status = because.length === 0 ? 200 : 503
    ctx.body = because.length === 0 ? { ok: true } : { ok: false, reasons: because }
  })

  router.get('/metrics', async (ctx) => {
    const state = ctx.state as DoorState
    if (!isTrusted(state.address, allowed) && !hasToken(ctx, services.config.metrics.token)) throw new GatewayError('not_found')
    ctx.type = services.observe.metricsType
    ctx.body = await services.observe.metricsText()
  })
}

function hasToken(ctx: Context, token: string | null): boolean {
  const sent = /^Bearer (.+)$/.exec(ctx.get('authorization'))?.[1]
  if (token === null || sent === undefined) return false
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest()
  return timingSafeEqual(digest(sent), digest(token))
}
