/** A product for embeddings, whose target is the demonstration upstream. */
import type { GatewayInput } from '../../../src/config/config.ts'

export const embeddingProduct = {
  name: 'Embed',
  tier: 'light',
  capabilities: ['embedding'],
  contextLength: 8192,
  maxOutputTokens: 16,
  defaultOutputTokens: 16,
  targets: [{ upstream: 'main', model: 'demo-embedding' }],
} satisfies GatewayInput['products'][string]
