/** The chat endpoint. This schema documents it; requests are parsed by `src/exchange/request/chat-request.ts`. */
import { z } from 'zod'
import type { ErrorCode } from '../../errors.ts'
import { defineEndpoint } from '../endpoint.ts'
import { count } from '../fields.ts'

/** Errors of any turn that calls an upstream. */
export const turnErrors = [
  'official_models_only',
  'quota_exceeded',
  'context_length_exceeded',
  'content_filter',
  'conflict',
  'upstream_error',
  'upstream_rate_limited',
  'upstream_not_configured',
  'upstream_model_unavailable',
] as const satisfies readonly ErrorCode[]

const message = z.looseObject({
  role: z.string().min(1),
  content: z.union([z.string(), z.array(z.looseObject({ type: z.string() })), z.null()]).optional(),
})

const usage = z.looseObject({ prompt_tokens: count, completion_tokens: count, total_tokens: count })

export const completion = z
  .looseObject({
    id: z.string(),
    object: z.literal('chat.completion'),
    created: z.number(),
    model: z.string(),
    choices: z.array(
      z.looseObject({
        index: count,
        message: z.looseObject({ role: z.literal('assistant'), content: z.string().nullable().optional() }),
        finish_reason: z.string().nullable(),
      }),
    ),
    usage: usage.nullish(),
  })
  .meta({ id: 'ChatCompletion' })

export const chunk = z
  .looseObject({
    id: z.string(),
    object: z.literal('chat.completion.chunk'),
    created: z.number(),
    model: z.string(),
    choices: z.array(
      z.looseObject({
        index: count,
        delta: z.looseObject({ content: z.string().nullish() }),
        finish_reason: z.string().nullish(),
      }),
    ),
    usage: usage.nullish(),
  })
  .meta({ id: 'ChatCompletionChunk', description: 'A frame of a stream; the last is `[DONE]`, or the envelope before it.' })

export const createCompletion = defineEndpoint({
  method: 'post',
  path: '/v1/chat/completions',
  security: 'api_credential',
  summary: "Runs a turn in OpenAI's chat format: one response, or events with `stream: true`.",
  body: z.looseObject({
    model: z.string().min(1),
    messages: z.array(message).min(1),
    stream: z.boolean().nullish(),
    stream_options: z.looseObject({ include_usage: z.boolean().optional() }).nullish(),
    max_tokens: z.int().min(1).nullish(),
    max_completion_tokens: z.int().min(1).nullish(),
    n: z.int().min(1).max(8).nullish(),
  }),
  response: completion,
  mediaType: 'text/event-stream',
  isTurn: true,
  errors: turnErrors,
})
