/** `POST /v1/chat/completions`: a turn through the chain. */
import type { Router } from '@koa/router'
import type { House } from '../house.ts'
import { takeOver } from '../client.ts'
import { exchangeOf } from '../door.ts'

export function chatRoutes(router: Router, { services, chain, calls }: House): void {
  router.post('/v1/chat/completions', async (ctx) => {
    await chain.run(exchangeOf(ctx, 'turn', services), calls.chat, takeOver(ctx), services)
  })
}
