/**
 * The shipped configuration for a machine with 512 MB: one serving thread, and bodies and answers that together leave room for the rest.
 * Named by GATEWAY_CONFIG; docs/deploy.md has what it was measured with.
 */
import { defineGateway } from 'svc-gateway'
import base from 'svc-gateway/gateway.config.js'

const mebibyte = 2 ** 20

export default defineGateway({
  ...base,
  workers: 1,
  limits: {
    ...base.limits,
    connections: 2_000,
    chatBodyBytes: 4 * mebibyte,
    agentBodyBytes: 8 * mebibyte,
    accountBodiesBytes: 8 * mebibyte,
    allBodiesBytes: 24 * mebibyte,
    answerBytes: 16 * mebibyte,
  },
})
