/** Product → the targets that can serve it now, and the body each of them is sent. */
import { createHmac } from 'node:crypto'
import { definePlugin, isRecord, promptSize, UpstreamFailure } from '../src/index.ts'
import type { Candidate, ChatRequest, Exchange, LiveTarget, Product, Services, Slots } from '../src/index.ts'

export const upstreamMapping = definePlugin({
  name: 'upstream-mapping',
  needs: ['caller', 'chat', 'product', 'hold'],
  gives: ['route'],
  // Without it whatever the upstream says is our own error to the caller.
  followedBy: ['error-envelope'],
  on: 'turn',
  onRequest(x, services) {
    const serving = servingProduct(x, services)
    const live = services.upstreams.candidates(serving.targets, fallbackModel(serving), services.clock.ticks())
    // A search engine finds without a model; only the reading of what it found needs one.
    const engine = x.product.capabilities.includes('search') && services.config.search.backend !== 'upstream'
    if (live.length === 0 && !engine)
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

/** Whose targets serve it: the product's own, or for `auto` those of the first rule that fits. Id and price stay those of what was asked for. */
function servingProduct({ product, chat }: Pick<Slots, 'product' | 'chat'>, { products, config }: Services): Product {
  if (product.rules.length === 0) return product
  const { images, tokens } = promptSize(chat, config.limits.imageTokens)
  const fitting = product.rules.find(({ when, longerThanTokens = 0 }) =>
    when === 'images' ? images > 0 : tokens > longerThanTokens,
  )
  return (fitting === undefined ? undefined : products.get(fitting.use)) ?? product
}

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
    model: target.model,
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
  const { user, safety_identifier: safetyIdentifier, stream_options: streamOptions } = chat.body
  // A field that is undefined is not written at all.
  return {
    ...chat.body,
    model,
    messages: developerRole === 'developer' ? chat.messages : chat.messages.map((message) => withRole(message, developerRole)),
    max_tokens: undefined,
    max_completion_tokens: undefined,
    [maxTokensField]: outputCap,
    user: user === undefined ? undefined : who(),
    safety_identifier: safetyIdentifier === undefined ? undefined : who(),
    stream_options: chat.stream ? { ...(isRecord(streamOptions) ? streamOptions : {}), include_usage: true } : undefined,
    ...(passCostFields ? {} : { service_tier: undefined, store: undefined }),
  }
}

function withRole(message: unknown, role: string): unknown {
  return isRecord(message) && message['role'] === 'developer' ? { ...message, role } : message
}

/** The same for an account every time, and nobody's but ours to trace back. */
function pseudonym(account: string, secret: Buffer): string {
  return createHmac('sha256', secret).update(`upstream-user:${account}`).digest('hex').slice(0, 32)
}
