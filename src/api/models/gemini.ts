/** Google's Gemini API. The schemas document it; requests are translated by `src/formats/gemini/`. */
import { z } from 'zod'
import { turnErrors } from './chat.ts'
import { defineEndpoint } from '../endpoint.ts'
import { count } from '../fields.ts'

const contents = z.array(z.looseObject({ role: z.string().nullish(), parts: z.array(z.looseObject({})).min(1) })).min(1)

const request = z.looseObject({
  contents,
  systemInstruction: z.looseObject({}).nullish(),
  tools: z.array(z.looseObject({})).nullish(),
  toolConfig: z.looseObject({}).nullish(),
  generationConfig: z.looseObject({}).nullish(),
})

const response = z
  .looseObject({
    candidates: z.array(
      z.looseObject({
        content: z.looseObject({ role: z.literal('model'), parts: z.array(z.looseObject({})) }),
        finishReason: z.string().optional(),
        index: count,
      }),
    ),
    usageMetadata: z.looseObject({ promptTokenCount: count, candidatesTokenCount: count, totalTokenCount: count }),
    modelVersion: z.string(),
    responseId: z.string(),
  })
  .meta({ id: 'GenerateContentResponse' })

export const geminiModel = z
  .strictObject({
    name: z.string().meta({ description: 'The product, as in `models/svc-2.1`.' }),
    version: z.string(),
    displayName: z.string(),
    inputTokenLimit: count,
    outputTokenLimit: count,
    supportedGenerationMethods: z.array(z.string()),
  })
  .meta({ id: 'GeminiModel' })

export const generateContent = defineEndpoint({
  method: 'post',
  path: '/v1beta/models/{model}:generateContent',
  aliases: ['/v1/models/{model}:generateContent'],
  security: 'api_credential',
  summary: "Runs a turn in the format of Google's Gemini API. The key may also be sent as `x-goog-api-key`.",
  body: request,
  response,
  failureFormat: 'gemini',
  errors: turnErrors,
})

export const streamGenerateContent = defineEndpoint({
  method: 'post',
  path: '/v1beta/models/{model}:streamGenerateContent',
  aliases: ['/v1/models/{model}:streamGenerateContent'],
  security: 'api_credential',
  summary: 'The same as events, each a `GenerateContentResponse` with the next parts; `alt=sse` is required.',
  query: z.object({ alt: z.literal('sse') }),
  body: request,
  mediaType: 'text/event-stream',
  failureFormat: 'gemini',
  errors: turnErrors,
})

export const countGeminiTokens = defineEndpoint({
  method: 'post',
  path: '/v1beta/models/{model}:countTokens',
  aliases: ['/v1/models/{model}:countTokens'],
  security: 'api_credential',
  summary: 'Estimates the tokens of a prompt. It costs nothing and does not count as a request of the plan.',
  body: z.looseObject({ contents: contents.nullish(), generateContentRequest: request.nullish() }),
  response: z.strictObject({ totalTokens: count }),
  failureFormat: 'gemini',
  errors: ['official_models_only'],
})

export const listGeminiModels = defineEndpoint({
  method: 'get',
  path: '/v1beta/models',
  security: 'api_credential',
  summary: 'Lists the products in the plan for clients of the Gemini API.',
  query: z.object({
    pageSize: z.coerce.number().int().min(0).max(1000).optional(),
    pageToken: z.string().optional(),
    queryBase: z.string().optional(),
  }),
  response: z.strictObject({ models: z.array(geminiModel), nextPageToken: z.string().optional() }),
  failureFormat: 'gemini',
  errors: [],
})

export const showGeminiModel = defineEndpoint({
  method: 'get',
  path: '/v1beta/models/{model}',
  security: 'api_credential',
  summary: 'Returns one product for clients of the Gemini API.',
  response: geminiModel,
  failureFormat: 'gemini',
  errors: ['not_found'],
})
