/** The shipped configuration with limits that no benchmark meets: everything is on, nothing refuses. */
import base from '../gateway.config.ts'
import { defineGateway, env } from '../src/index.ts'

const plenty = { day: 1e14, week: 1e14, month: 1e14 }

export default defineGateway({
  ...base,
  upstreams: { main: { baseUrl: env.text('UPSTREAM_BASE_URL') ?? 'demo', connections: 20_000 } },
  plans: {
    ...base.plans,
    max: {
      name: 'Max',
      prices: [{ amount: 0 }],
      rpm: 1_000_000_000,
      concurrency: 100_000,
      pools: { fast: plenty, premium: plenty },
    },
  },
  limits: { addressRpm: 1_000_000_000 },
  metrics: { token: 'bench' },
})
