/** `POST /v1/chat/completions`: a turn through the chain. */
import type { Router } from '@koa/router'
import { createCompletion } from '../../api/chat.ts'
import type { House } from '../house.ts'
import { takeOver } from '../client.ts'
import { exchangeOf } from '../door.ts'
import { mount } from '../serve.ts'

export function chatRoutes(router: Router, { services, chain, calls }: House): void {
  mount(router, createCompletion, async (ctx) => {
    await chain.run(exchangeOf(ctx, 'turn', services), calls.chat, takeOver(ctx), services)
  })
}
