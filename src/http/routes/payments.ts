/** Notifications of payment providers: raw bytes without a session, bounded in size and number. Bodies and queries are never logged. */
import type { Context } from 'koa'
import type { Router } from '../../system/vendor/koa-router.ts'
import { notifyPayment, notifyPaymentByQuery } from '../../api/payments.ts'
import { PaymentProviderError } from '../../domain/billing/orders/payment-provider.ts'
import type { RawNotification } from '../../domain/billing/orders/payment-provider.ts'
import { GatewayError } from '../../errors.ts'
import type { Services } from '../../services/services.ts'
import { getPathParams, mount } from '../endpoint-handler.ts'
import { readBody, toAddressOwner } from '../request/read-body.ts'
import type { RequestState } from '../request-context.ts'

/** The longest events have some 50 KB. */
const maxBodyBytes = 256 * 1024
/** Handled at once by a thread. Each may ask its provider, and anyone can send one; what is refused is sent again, or found by asking. */
const maxRunning = 32

export function mountPaymentRoutes(router: Router, services: Services): void {
  let runningCount = 0
  const receive = async (ctx: Context): Promise<void> => {
    const { provider = '' } = getPathParams(ctx)
    const { orders } = services
    // The name may be one of an object's own properties, so that only the map is asked.
    if (orders === null || !services.paymentProviders.has(provider)) throw new GatewayError('not_found')
    if (runningCount >= maxRunning) throw new GatewayError('temporarily_unavailable', { retryAfter: 5 })
    runningCount++
    try {
      const { status, body } = await orders.receive(provider, await readNotification(ctx, services))
      ctx.status = status
      ctx.type = 'text/plain; charset=utf-8'
      ctx.set('cache-control', 'no-store')
      ctx.body = body
    } catch (error) {
      if (!(error instanceof PaymentProviderError)) throw error
      // The provider sends it again.
      throw new GatewayError('temporarily_unavailable', { cause: error, retryAfter: 60 })
    } finally {
      runningCount--
    }
  }
  mount(router, notifyPayment, receive)
  mount(router, notifyPaymentByQuery, receive)
}

async function readNotification(ctx: Context, services: Services): Promise<RawNotification> {
  const { address } = ctx.state as RequestState
  const method = ctx.method === 'POST' ? 'POST' : 'GET'
  const body =
    method === 'GET'
      ? Buffer.alloc(0)
      : await readBody(ctx.req, { maxBytes: maxBodyBytes, mediaType: 'any', owner: toAddressOwner(address), services })
  const headers = Object.fromEntries(
    Object.entries(ctx.headers).flatMap(([name, value]) => (typeof value === 'string' ? [[name, value]] : [])),
  ) as Record<string, string>
  return { method, headers, query: ctx.querystring, body, receivedAt: services.clock.now() }
}
