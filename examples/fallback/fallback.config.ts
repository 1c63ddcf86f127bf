/** Two upstreams behind every product: `primary` serves, and `backup` takes over when it cannot be reached, or answers 429 or 503. */
import base from 'svc-gateway/gateway.config.js'
import { defineGateway, env } from 'svc-gateway'

/** Weights divide the calls; a target of weight 0 serves only where the others have failed. The model names are the upstreams' own. */
const targets = (model: string) => [
  { upstream: 'primary', model, weight: 1 },
  { upstream: 'backup', model, weight: 0 },
]

export default defineGateway({
  ...base,
  upstreams: {
    primary: { baseUrl: env.text('PRIMARY_BASE_URL', 'https://primary.example.com/v1'), apiKey: env.secret('PRIMARY_API_KEY') },
    backup: { baseUrl: env.text('BACKUP_BASE_URL', 'https://backup.example.com/v1'), apiKey: env.secret('BACKUP_API_KEY') },
  },
  products: Object.fromEntries(
    Object.entries(base.products).map(([id, product]) => [
      id,
      { ...product, targets: targets(product.tier === 'light' ? 'demo-light' : 'demo-flagship') },
    ]),
  ),
})
