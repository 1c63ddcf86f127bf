/** The shipped configuration with pools and limits raised, and one plan whose pools the run empties. */
import base from '../../gateway.config.ts'
import { defineGateway } from '../../src/index.ts'
import { pools } from './pools.ts'

const unlimited = { prices: [{ amount: 0 }], rpm: 1_000_000_000, concurrency: 100_000 }

export default defineGateway({
  ...base,
  plans: {
    ...base.plans,
    max: { ...base.plans.max, name: 'Max', ...unlimited, pools: { fast: pools.max, premium: pools.max } },
    free: { ...base.plans.free, name: 'Free', ...unlimited, pools: { fast: pools.free, premium: pools.free } },
  },
  limits: { addressRpm: 1_000_000_000 },
})
