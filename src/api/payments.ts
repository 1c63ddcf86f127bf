/** Where payment providers send their notifications. Each provider has its own format, which proves itself by a signature. */
import { defineEndpoint } from './endpoint.ts'

const notification = {
  path: '/payments/{provider}/notify',
  security: 'public',
  mediaType: 'text/plain',
  errors: ['not_found', 'payload_too_large', 'temporarily_unavailable'],
} as const

export const notifyPayment = defineEndpoint({
  ...notification,
  method: 'post',
  summary:
    'A notification of the payment provider of this name. It is only a hint: the provider is asked what was paid. 400 in plain text for one that the provider did not sign.',
})

export const notifyPaymentByQuery = defineEndpoint({
  ...notification,
  method: 'get',
  summary: 'The same for providers that send GET requests.',
})
