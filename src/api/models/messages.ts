/** Anthropic's Messages API. The schemas document it; requests are translated by `src/formats/messages/`. */
import { z } from 'zod'
import { turnErrors } from './chat.ts'
import { defineEndpoint } from '../endpoint.ts'
import { count } from '../fields.ts'

const prompt = {
  model: z.string().min(1),
  messages: z.array(z.looseObject({ role: z.enum(['user', 'assistant', 'system']) })).min(1),
  system: z.union([z.string(), z.array(z.looseObject({ type: z.string() }))]).nullish(),
  tools: z.array(z.looseObject({ name: z.string() })).nullish(),
}

const message = z
  .looseObject({
    id: z.string(),
    type: z.literal('message'),
    role: z.literal('assistant'),
    model: z.string(),
    content: z.array(z.looseObject({ type: z.string() })),
    stop_reason: z.string().nullable(),
    usage: z.looseObject({ input_tokens: count, output_tokens: count }),
  })
  .meta({ id: 'Message' })

/** Clients of this API add `?beta=true`, which changes nothing here. */
const query = z.object({ beta: z.string().optional() })

export const createMessage = defineEndpoint({
  method: 'post',
  path: '/v1/messages',
  security: 'api_credential',
  summary:
    "Runs a turn in Anthropic's format of messages: one message, or events with `stream: true`. The key may also be sent as `x-api-key`.",
  query,
  body: z.looseObject({ ...prompt, max_tokens: z.int().min(1), stream: z.boolean().nullish() }),
  response: message,
  mediaType: 'text/event-stream',
  failureFormat: 'messages',
  isTurn: true,
  errors: turnErrors,
})

export const countTokens = defineEndpoint({
  method: 'post',
  path: '/v1/messages/count_tokens',
  security: 'api_credential',
  summary: 'Estimates the tokens of a prompt. It costs nothing and does not count as a request of the plan.',
  query,
  body: z.looseObject(prompt),
  response: z.strictObject({ input_tokens: count }),
  failureFormat: 'messages',
  errors: ['official_models_only'],
})
