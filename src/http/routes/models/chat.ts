/** The endpoints that run a turn through the plugin chain: `POST /v1/chat/completions`, and the same in other API formats. */
import type { Router } from '../../../system/vendor/koa-router.ts'
import { createCompletion } from '../../../api/models/chat.ts'
import { createMessage } from '../../../api/models/messages.ts'
import { createResponse } from '../../../api/models/responses.ts'
import { translateAnswers } from '../../../formats/exchange-translation.ts'
import { runHostedSearches } from '../../../tools/hosted-search/hosted-search-turn.ts'
import { addCodexUsageHeaders } from '../../response/codex-usage-headers.ts'
import type { RouteDeps } from '../../route-deps.ts'
import { bypassKoa } from '../../response/response-writer.ts'
import { getExchange } from '../../request-context.ts'
import { mount } from '../../endpoint-handler.ts'

export function mountChatRoutes(router: Router, { services, chain, turnHandlers }: RouteDeps): void {
  mount(router, createCompletion, async (ctx) => {
    await chain.run(getExchange(ctx, 'turn', services), turnHandlers.chat, bypassKoa(ctx), services)
  })

  const { search } = turnHandlers
  const translatedChat = translateAnswers(runHostedSearches(turnHandlers.chat, { services, chain, search }))
  const codexChat = addCodexUsageHeaders(translatedChat, services)
  mount(router, createResponse, async (ctx) => {
    await chain.run(getExchange(ctx, 'turn', services), codexChat, bypassKoa(ctx), services)
  })

  mount(router, createMessage, async (ctx) => {
    await chain.run(getExchange(ctx, 'turn', services), translatedChat, bypassKoa(ctx), services)
  })
}
