/** `POST /v1/chat/completions`: a turn through the chain. */
import type { Router } from '@koa/router'
import { networks } from '../../config.ts'
import type { House } from '../app.ts'
import { takeOver } from '../client.ts'
import { newExchange } from '../door.ts'

export function chatRoutes(router: Router, { services, chain, forwarder }: House): void {
  const trusted = networks(services.config.listen.trustedProxies)
  router.post('/v1/chat/completions', async (ctx) => {
    await chain.run(newExchange(ctx, 'turn', services, trusted), forwarder.call, takeOver(ctx), services)
  })
}
