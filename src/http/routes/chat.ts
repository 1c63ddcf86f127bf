/** `POST /v1/chat/completions`: a turn through the chain. */
import type { Router } from '../router.ts'
import { createCompletion } from '../../api/chat.ts'
import type { RouteParts } from '../route-parts.ts'
import { takeOver } from '../client.ts'
import { exchangeOf } from '../door.ts'
import { mount } from '../serve.ts'

export function chatRoutes(router: Router, { services, chain, calls }: RouteParts): void {
  mount(router, createCompletion, async (ctx) => {
    await chain.run(exchangeOf(ctx, 'turn', services), calls.chat, takeOver(ctx), services)
  })
}
