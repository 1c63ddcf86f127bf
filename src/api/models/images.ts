/** Images: generated through OpenAI's image API, and served by signed links. */
import { z } from 'zod'
import { turnErrors } from './chat.ts'
import { defineEndpoint } from '../endpoint.ts'
import { count } from '../fields.ts'

export const createImage = defineEndpoint({
  method: 'post',
  path: '/v1/images/generations',
  security: 'api_credential',
  summary: 'Generates images with the image product.',
  body: z.looseObject({
    prompt: z.string().min(1),
    model: z.string().min(1).nullish(),
    response_format: z.enum(['url', 'b64_json']).nullish(),
    n: z.int().min(1).max(8).nullish().meta({ description: '1 where the image product makes one image at a time.' }),
    stream: z.literal(false).nullish(),
  }),
  response: z.looseObject({
    created: count,
    data: z.array(
      z.looseObject({ url: z.url().optional(), b64_json: z.string().optional(), revised_prompt: z.string().optional() }),
    ),
    usage: z.looseObject({ input_tokens: count, output_tokens: count, total_tokens: count }).optional(),
  }),
  isTurn: true,
  errors: turnErrors,
})

export const showImage = defineEndpoint({
  method: 'get',
  path: '/v1/images/{hash}.{extension}',
  security: 'signed_url',
  summary: 'Returns a generated image by its signed link.',
  mediaType: 'image/*',
  errors: ['link_invalid', 'link_expired', 'not_found'],
})
