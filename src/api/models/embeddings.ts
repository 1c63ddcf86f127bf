/** Embeddings, in OpenAI's format. */
import { z } from 'zod'
import { turnErrors } from './chat.ts'
import { defineEndpoint } from '../endpoint.ts'
import { count } from '../fields.ts'

const tokens = z.array(z.int().min(0)).min(1)

export const createEmbeddings = defineEndpoint({
  method: 'post',
  path: '/v1/embeddings',
  security: 'api_credential',
  summary: 'Computes embeddings with an embedding product. Only the input is charged.',
  body: z.looseObject({
    model: z.string().min(1),
    input: z.union([
      z.string().min(1),
      tokens,
      z
        .array(z.union([z.string().min(1), tokens]))
        .min(1)
        .max(2048),
    ]),
    encoding_format: z.enum(['float', 'base64']).nullish(),
    dimensions: z.int().min(1).nullish(),
  }),
  response: z.strictObject({
    object: z.literal('list'),
    data: z.array(
      z.strictObject({
        object: z.literal('embedding'),
        index: count,
        embedding: z
          .union([z.array(z.number()), z.string()])
          .meta({ description: 'With `base64`: 32-bit floats in little-endian order.' }),
      }),
    ),
    model: z.string(),
    usage: z.strictObject({ prompt_tokens: count, total_tokens: count }),
  }),
  isTurn: true,
  errors: turnErrors,
})
