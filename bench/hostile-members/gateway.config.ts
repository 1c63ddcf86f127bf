/** The benchmark's configuration with a product for embeddings. */
import { defineGateway } from 'svc-gateway'
import measured from '../gateway.config.ts'

export default defineGateway({
  ...measured,
  products: {
    ...measured.products,
    'svc-embed': {
      name: 'Embed',
      tier: 'light',
      capabilities: ['embedding'],
      contextLength: 8192,
      maxOutputTokens: 16,
      defaultOutputTokens: 16,
      targets: [{ upstream: 'main', model: 'embedding' }],
    },
  },
})
