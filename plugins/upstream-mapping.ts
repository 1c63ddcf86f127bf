/** Product → the targets that can serve it now, and the body each of them is sent. */
import { createHmac } from 'node:crypto'
import { definePlugin, isRecord, UpstreamFailure } from '../src/index.ts'
import type { Candidate, ChatRequest, Exchange, LiveTarget, Product, Services, Slots } from '../src/index.ts'

export const upstreamMapping = definePlugin({
  name: 'upstream-mapping',
  needs: ['caller', 'chat', 'product', 'hold'],
  gives: ['route'],
  on: 'turn',
  onRequest(x, services) {
    const live = services.upstreams.candidates(x.product.targets, fallbackModel(x.product), services.clock.ticks())
    if (live.length === 0)
      throw new UpstreamFailure({ kind: 'unconfigured', reason: `no target of '${x.product.id}' is set up` }, null)
    x.route = {
      candidates: live.map((target) => candidateFor(target, x, services)),
      productId: x.product.id,
      stream: x.chat.stream,
      includeUsage: x.chat.includeUsage,
      inputEstimate: x.hold.inputEstimate,
    }
  },
})

/** An ordinary model may go by the product's own id; one that searches or paints must be named by the operator. */
function fallbackModel(product: Product): string | null {
  return product.capabilities.includes('chat') ? product.id : null
}

type Asked = Exchange & Pick<Slots, 'caller' | 'chat' | 'product' | 'hold'>

function candidateFor(target: LiveTarget, x: Asked, { secret }: Services): Candidate {
  let body: string | undefined
  return {
    name: target.name,
    upstream: target.upstream.name,
    path: '/chat/completions',
    body: () =>
      (body ??= JSON.stringify(bodyFor(target, x.chat, x.hold.outputCap, () => pseudonym(x.caller.account.id, secret)))),
  }
}

/** The member's request with what must differ: the model's name, the cap that is paid for, and nothing about who asks. */
function bodyFor(
  { model, upstream }: LiveTarget,
  chat: ChatRequest,
  outputCap: number,
  who: () => string,
): Record<string, unknown> {
  const { maxTokensField, developerRole, passCostFields } = upstream.config
  const body: Record<string, unknown> = { ...chat.body, model }
  delete body['max_tokens']
  delete body['max_completion_tokens']
  body[maxTokensField] = outputCap
  if (!passCostFields) {
    delete body['service_tier']
    delete body['store']
  }
  for (const field of ['user', 'safety_identifier']) if (body[field] !== undefined) body[field] = who()
  if (chat.stream)
    body['stream_options'] = { ...(isRecord(body['stream_options']) ? body['stream_options'] : {}), include_usage: true }
  else delete body['stream_options']
  if (developerRole !== 'developer') body['messages'] = chat.messages.map((message) => withRole(message, developerRole))
  return body
}

function withRole(message: unknown, role: string): unknown {
  return isRecord(message) && message['role'] === 'developer' ? { ...message, role } : message
}

/** The same for an account every time, and nobody's but ours to trace back. */
function pseudonym(account: string, secret: Buffer): string {
  return createHmac('sha256', secret).update(`upstream-user:${account}`).digest('hex').slice(0, 32)
}
