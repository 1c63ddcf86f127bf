/** Product → the targets that can serve it now, and the body each of them is sent. */
import { createHmac } from 'node:crypto'
import {
  definePlugin,
  droppedHeader,
  hasImages,
  isRecord,
  messagesFor,
  passing,
  Printed,
  printFor,
  UpstreamFailure,
  withoutExtras,
} from '../src/index.ts'
import type { Asking, Candidate, Exchange, LiveTarget, PluginServices, Product, Slots } from '../src/index.ts'

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
      throw new UpstreamFailure(
        { kind: 'unconfigured', reason: `no target of '${x.product.id}' is set up`, product: x.product.id },
        null,
      )
    tellDropped(x, live[0])
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
function servingProduct(
  { product, chat, hold }: Pick<Slots, 'product' | 'chat' | 'hold'>,
  { products }: PluginServices,
): Product {
  if (product.rules.length === 0) return product
  const fitting = product.rules.find(({ when, longerThanTokens = 0 }) =>
    when === 'images' ? hasImages(chat) : hold.inputEstimate > longerThanTokens,
  )
  return products.all.find(({ id }) => id === fitting?.use) ?? product
}

/** An ordinary model may go by the product's own id; one that searches or paints must be named by the operator. */
function fallbackModel(product: Product): string | null {
  return product.capabilities.includes('chat') ? product.id : null
}

type Asked = Exchange & Pick<Slots, 'caller' | 'chat' | 'product' | 'hold'>

/** What the first target will not be sent is what the caller is told of: the others are seldom asked. */
function tellDropped(x: Asked, first: LiveTarget | undefined): void {
  if (first === undefined) return
  const { dropped } = passing(x.chat, first.upstream.config)
  if (dropped.length > 0) x.headers[x.names.fieldsDroppedHeader] = droppedHeader(dropped)
}

function candidateFor(target: LiveTarget, x: Asked, { secret }: PluginServices): Candidate {
  return {
    name: target.name,
    upstream: target.upstream.name,
    model: target.model,
    path: '/chat/completions',
    body: (asking) =>
      printFor(
        x.chat,
        bodyFor(target, x, asking, () => pseudonym(x.caller.account.id, secret)),
      ),
  }
}

/** The member's request with what must differ: the model's name, the cap that is paid for, and nothing about who asks. */
function bodyFor(
  { model, upstream, dialect }: LiveTarget,
  { chat, hold }: Asked,
  asking: Asking,
  who: () => string,
): Record<string, unknown> {
  const { fields } = passing(chat, upstream.config)
  const { user, safety_identifier: safetyIdentifier, tools } = fields
  // A field that is undefined is not written at all.
  const body: Record<string, unknown> = {
    ...fields,
    model,
    messages: messagesFor(chat, dialect.developerRole),
    tools: Array.isArray(tools) ? withoutExtras(tools) : tools,
    max_tokens: undefined,
    max_completion_tokens: undefined,
    [dialect.capField]: asking.cap ?? dialect.capFor(hold.outputCap, chat.maxTokens === null, hold.inputEstimate),
    user: user === undefined ? undefined : who(),
    safety_identifier: safetyIdentifier === undefined ? undefined : who(),
    ...streamFields(asking, chat.stream, fields['stream_options']),
  }
  for (const field of dialect.leftOut) body[field] = undefined
  return body
}

/** Whether a stream is asked for is decided by what is known of the target, not by what the member wants to be sent. */
function streamFields({ stream, usage }: Asking, wanted: boolean, theirs: unknown): Record<string, unknown> {
  if (!stream || !usage) return { stream: stream ? true : undefined, stream_options: undefined }
  // Where options are so many that they are text, that has the field.
  const options =
    wanted && theirs instanceof Printed ? theirs : { ...(wanted && isRecord(theirs) ? theirs : {}), include_usage: true }
  return { stream: true, stream_options: options }
}

/** The same for an account every time, and nobody's but ours to trace back. */
function pseudonym(account: string, secret: Buffer): string {
  return createHmac('sha256', secret).update(`upstream-user:${account}`).digest('hex').slice(0, 32)
}
