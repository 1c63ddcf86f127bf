/** Selects the targets that can serve the product now, and builds the body for each of them. */
import { createHmac } from 'node:crypto'
import {
  definePlugin,
  droppedFieldsHeader,
  hasImages,
  encodeForTarget,
  GatewayError,
  isCapAdjustable,
  splitFields,
  UpstreamFailure,
  withUsageReport,
} from '../src/index.ts'
import type { UpstreamRequestMode, Candidate, Exchange, LiveTarget, PluginServices, Product, Slots } from '../src/index.ts'

export const upstreamMapping = definePlugin({
  name: 'upstream-mapping',
  needs: ['caller', 'chat', 'product', 'hold'],
  gives: ['route'],
  // Without `error-envelope`, any upstream error would reach the client as `internal_error`.
  followedBy: ['error-envelope'],
  on: 'turn',
  onRequest(x, services) {
    const servingProduct = findServingProduct(x, services)
    const { upstreams, clock } = services
    const live = upstreams.selectCandidates(servingProduct.targets, getFallbackModel(servingProduct), clock.monotonicMs(), x)
    // A search engine works without a model; only reading its results needs one.
    const hasSearchEngine = x.product.capabilities.includes('search') && services.config.search.backend !== 'upstream'
    if (live.length === 0 && !hasSearchEngine) {
      const returnMs = upstreams.findReturnMs(servingProduct.targets, getFallbackModel(servingProduct), clock.monotonicMs())
      if (returnMs !== null)
        throw new GatewayError('upstream_model_unavailable', { retryAfter: Math.ceil(returnMs / 1000), shouldRetry: false })
      throw new UpstreamFailure(
        { kind: 'unconfigured', reason: `no target of '${x.product.id}' is set up`, product: x.product.id },
        null,
      )
    }
    setDroppedFieldsHeader(x, live[0])
    x.route = {
      candidates: live.map((target) => createCandidate(target, x, services)),
      productId: x.product.id,
      stream: x.chat.stream,
      includeUsage: x.chat.includeUsage,
      inputEstimate: x.hold.inputEstimate,
    }
  },
})

/**
 * The product whose targets serve the turn: the requested one, or that of its first matching rule. Id and price stay those of the requested
 * product.
 */
function findServingProduct(
  { product, chat, hold }: Pick<Slots, 'product' | 'chat' | 'hold'>,
  { products }: PluginServices,
): Product {
  if (product.rules.length === 0) return product
  const matchingRule = product.rules.find(({ when, longerThanTokens = 0 }) =>
    when === 'images' ? hasImages(chat) : hold.inputEstimate > longerThanTokens,
  )
  return products.all.find(({ id }) => id === matchingRule?.use) ?? product
}

/** A chat product may use its own id as the model; search and image products need a configured model. */
function getFallbackModel(product: Product): string | null {
  return product.capabilities.includes('chat') ? product.id : null
}

type MappingInput = Exchange & Pick<Slots, 'caller' | 'chat' | 'product' | 'hold'>

/** The header names the fields that the first target does not receive; fallbacks are rarely called. */
function setDroppedFieldsHeader(x: MappingInput, first: LiveTarget | undefined): void {
  if (first === undefined) return
  addDroppedFields(x, splitFields(x.chat, first.upstream.config).dropped)
}

/** Each name once, also where the request is encoded for several targets. */
function addDroppedFields({ headers, names }: MappingInput, dropped: readonly string[]): void {
  if (dropped.length === 0) return
  const earlierFields = headers[names.fieldsDroppedHeader]?.split(', ') ?? []
  headers[names.fieldsDroppedHeader] = droppedFieldsHeader([...new Set([...earlierFields, ...dropped])])
}

function createCandidate(target: LiveTarget, x: MappingInput, { secret }: PluginServices): Candidate {
  return {
    name: target.name,
    upstream: target.upstream.name,
    model: target.model,
    cost: target.cost ?? null,
    path: '/chat/completions',
    body: (mode) => buildBody(target, x, mode, (subject) => derivePseudonym(`${subject}:${x.caller.account.id}`, secret)),
  }
}

/**
 * The member's request with the changes it needs: model name, cap that the hold covers, and a pseudonym instead of the member's identity.
 */
function buildBody(
  { model, upstream: { config: policy }, dialect }: LiveTarget,
  x: MappingInput,
  mode: UpstreamRequestMode,
  getPseudonym: (subject: string) => string,
): Record<string, unknown> {
  const { chat, hold } = x
  const { droppedFields, droppedTranslatedFields } = dialect
  const withoutEncryptedReasoning = mode.withoutEncryptedReasoning === true
  const target = { policy, facts: dialect.describe(x.caller.account.id), droppedFields, withoutEncryptedReasoning }
  const { fields: sentFields, dropped } = encodeForTarget(chat, target)
  addDroppedFields(x, dropped)
  const { user, safety_identifier: safetyIdentifier, prompt_cache_key: cacheKey } = sentFields
  // Fields that are undefined are not serialized.
  const body: Record<string, unknown> = {
    ...sentFields,
    model,
    max_tokens: undefined,
    max_completion_tokens: undefined,
    [dialect.capField]: mode.outputCap ?? dialect.computeOutputCap(hold.outputCap, isCapAdjustable(chat), hold.inputEstimate),
    user: user === undefined ? undefined : getPseudonym('upstream-user'),
    safety_identifier: safetyIdentifier === undefined ? undefined : getPseudonym('upstream-user'),
    // Accounts share the operator's credential: the same key of two accounts must not name one cache.
    prompt_cache_key: typeof cacheKey === 'string' ? getPseudonym(`prompt-cache:${cacheKey}`) : undefined,
    ...buildStreamFields(mode, chat.stream, sentFields['stream_options']),
  }
  for (const field of droppedFields) body[field] = undefined
  if (chat.format !== undefined) for (const field of droppedTranslatedFields) body[field] = undefined
  return body
}

/** Whether to request a stream depends on what the target supports, not on what the member requested. */
function buildStreamFields(
  { stream, includeUsage }: UpstreamRequestMode,
  isStreamWanted: boolean,
  clientOptions: unknown,
): Record<string, unknown> {
  if (!stream || !includeUsage) return { stream: stream ? true : undefined, stream_options: undefined }
  return { stream: true, stream_options: withUsageReport(isStreamWanted ? clientOptions : undefined) }
}

/** Constant per account and subject; only this installation can trace it back. */
function derivePseudonym(subject: string, secret: Buffer): string {
  return createHmac('sha256', secret).update(subject).digest('hex').slice(0, 32)
}
