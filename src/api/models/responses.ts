/** OpenAI's Responses API. The schemas document it; requests are translated by `src/formats/responses/`. */
import { z } from 'zod'
import { turnErrors } from './chat.ts'
import { defineEndpoint } from '../endpoint.ts'
import { count } from '../fields.ts'

const response = z
  .looseObject({
    id: z.string(),
    object: z.literal('response'),
    created_at: z.number(),
    status: z.enum(['completed', 'incomplete']),
    model: z.string(),
    output: z.array(z.looseObject({ type: z.string() })),
    store: z.literal(false),
    usage: z.looseObject({ input_tokens: count, output_tokens: count, total_tokens: count }).nullable(),
  })
  .meta({ id: 'Response' })

export const createResponse = defineEndpoint({
  method: 'post',
  path: '/v1/responses',
  security: 'api_credential',
  summary:
    "Runs a turn in OpenAI's format of responses: one response, or events with `stream: true`. Nothing is stored: send the whole conversation.",
  body: z.looseObject({
    model: z.string().min(1),
    input: z.union([z.string(), z.array(z.looseObject({}))]),
    instructions: z.string().nullish(),
    tools: z.array(z.looseObject({ type: z.string() })).nullish(),
    stream: z.boolean().nullish(),
    store: z.boolean().nullish(),
    max_output_tokens: z.int().min(1).nullish(),
  }),
  response,
  mediaType: 'text/event-stream',
  failureFormat: 'responses',
  isTurn: true,
  errors: turnErrors,
})
