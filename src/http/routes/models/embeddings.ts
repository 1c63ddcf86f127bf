/** `POST /v1/embeddings`: runs a turn with an embedding product. */
import type { Router } from '../../../system/vendor/koa-router.ts'
import { createEmbeddings } from '../../../api/models/embeddings.ts'
import { createInboundWithChat } from '../../../exchange/inbound-with-chat.ts'
import { parseBody } from '../../../exchange/request/chat-request.ts'
import { parseEmbeddingRequest } from '../../../tools/embeddings/embedding-request.ts'
import { readBody } from '../../request/read-body.ts'
import { bypassKoa } from '../../response/response-writer.ts'
import { getExchange } from '../../request-context.ts'
import type { RouteDeps } from '../../route-deps.ts'
import { mount, toMemberOwner } from '../../endpoint-handler.ts'

export function mountEmbeddingRoute(router: Router, { services, chain, turnHandlers }: RouteDeps): void {
  const { config, products } = services
  mount(router, createEmbeddings, async (ctx) => {
    const x = getExchange(ctx, 'turn', services)
    const chat = async (member?: string) => {
      const owner = toMemberOwner(ctx, member)
      const rawBody = await readBody(ctx.req, { maxBytes: config.limits.embeddingBodyBytes, owner, services })
      return parseEmbeddingRequest(parseBody(rawBody), { bytes: rawBody.length, products })
    }
    await chain.run({ ...x, inbound: createInboundWithChat(x.inbound, chat) }, turnHandlers.embeddings, bypassKoa(ctx), services)
  })
}
