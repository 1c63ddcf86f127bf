/** The shipped configuration with larger pools and limits, one plan whose pools the run uses up, and prices of cached input. */
import base from '../../gateway.config.ts'
import { defineGateway, env } from '../../src/index.ts'
import { pools } from './pools.ts'
import { cachedPrices } from './prices.ts'

const unlimited = { prices: [{ amount: 0 }], rpm: 1_000_000_000, concurrency: 100_000 }

/** For answers that fill all buffers. */
const large = { maxOutputTokens: 1_000_000, contextLength: 2_000_000 }

const product = base.products['svc-2.1']
const fastProduct = base.products['svc-2.1-fast']
if (product === undefined || fastProduct === undefined)
  throw new Error('the shipped configuration has no svc-2.1 or svc-2.1-fast')
const baseUrl = env.text('UPSTREAM_BASE_URL', 'demo')

export default defineGateway({
  ...base,
  plans: {
    ...base.plans,
    max: { ...base.plans.max, name: 'Max', ...unlimited, pools: { fast: pools.max, premium: pools.max } },
    free: { ...base.plans.free, name: 'Free', ...unlimited, pools: { fast: pools.free, premium: pools.free } },
  },
  // Else no turn would reach the upstream for a minute after each 401.
  upstreams: {
    main: { ...base.upstreams.main, baseUrl, rejectedKeyRestMs: 0 },
    claude: { ...base.upstreams.main, baseUrl, kind: 'anthropic', rejectedKeyRestMs: 0 },
    google: { ...base.upstreams.main, baseUrl, kind: 'gemini', rejectedKeyRestMs: 0 },
    openai: { ...base.upstreams.main, baseUrl, responses: true, rejectedKeyRestMs: 0 },
  },
  products: {
    ...base.products,
    'svc-2.1-fast': { ...fastProduct, ...large },
    'svc-2.1': {
      ...product,
      ...large,
      targets: [
        { upstream: 'main', model: 'big' },
        { upstream: 'claude', model: 'big' },
        { upstream: 'openai', model: 'big' },
        { upstream: 'google', model: 'big' },
      ],
    },
  },
  prices: {
    light: { ...base.prices.light, cachedInput: cachedPrices.light },
    flagship: { ...base.prices.flagship, cachedInput: cachedPrices.flagship },
  },
  timeouts: { ...base.timeouts, firstByteMs: 10_000, idleMs: 10_000, totalMs: 14_000, slowReaderMs: 4_000 },
  limits: { addressRpm: 1_000_000_000 },
})
