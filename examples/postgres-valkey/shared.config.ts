/**
 * Every node of a cluster runs this file with the same STORE_URL (PostgreSQL, all state), LIMITS_URL (Valkey, requests per minute) and SMTP_URL,
 * which the shipped configuration reads. It changes what a cluster often wants otherwise.
 */
import base from 'svc-gateway/gateway.config.js'
import { defineGateway } from 'svc-gateway'

export default defineGateway({
  ...base,
  store: { ...base.store, keepTurnsForDays: 30 },
  // A balancer that probes every five seconds needs a longer notice than the default of two.
  timeouts: { ...base.timeouts, drainNoticeMs: 10_000 },
})
