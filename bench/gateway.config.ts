/**
 * The shipped configuration with quotas and rate limits that no benchmark reaches, and no other change, as `test/rules/bench/run/config-diff.test.ts`
 * checks. It imports the program that reads it, so that another commit is measured with its own.
 */
import base from 'svc-gateway/gateway.config.js'
import { defineGateway } from 'svc-gateway'

const plenty = { day: 1e14, week: 1e14, month: 1e14 }
const unlimited = { rpm: 1_000_000_000, concurrency: 100_000, pools: { fast: plenty, premium: plenty } }

export default defineGateway({
  ...base,
  plans: Object.fromEntries(Object.entries(base.plans).map(([id, plan]) => [id, { ...plan, ...unlimited }])),
  limits: { ...base.limits, addressRpm: 1_000_000_000 },
})
