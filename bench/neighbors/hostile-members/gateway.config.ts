/** The benchmark's configuration, or with SHIPPED_LIMITS the shipped one, with a product for embeddings, and with a certificate for HTTP/2. */
import { defineGateway, env } from 'svc-gateway'
import shipped from 'svc-gateway/gateway.config.js'
import unlimited from '../../gateway.config.ts'

const base = env.text('SHIPPED_LIMITS') === null ? unlimited : shipped
const [cert, key] = [env.text('TLS_CERT'), env.text('TLS_KEY')]

export default defineGateway({
  ...base,
  listen: { ...base.listen, tls: cert === null || key === null ? null : { cert, key } },
  products: {
    ...base.products,
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
