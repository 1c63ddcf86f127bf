/** Pictures: asked for as OpenAI's clients do, and fetched by the links in answers. */
import { z } from 'zod'
import { turnErrors } from './chat.ts'
import { endpoint } from './endpoint.ts'
import { count } from './fields.ts'

export const createImage = endpoint({
  method: 'post',
  path: '/v1/images/generations',
  who: 'caller',
  about: 'Paints a picture with the product that paints.',
  body: z.looseObject({
    prompt: z.string().min(1),
    model: z.string().min(1).optional(),
    response_format: z.enum(['url', 'b64_json']).nullish(),
    n: z.int().min(1).max(8).nullish(),
    stream: z.literal(false).nullish(),
  }),
  answer: z.looseObject({
    created: count,
    data: z.array(
      z.looseObject({ url: z.url().optional(), b64_json: z.string().optional(), revised_prompt: z.string().optional() }),
    ),
    usage: z.looseObject({ input_tokens: count, output_tokens: count, total_tokens: count }).optional(),
  }),
  errors: turnErrors,
})

export const showImage = endpoint({
  method: 'get',
  path: '/v1/images/{hash}.{ending}',
  who: 'link',
  about: 'A painted picture, by the signed link that an answer had.',
  media: 'image/*',
  errors: ['link_invalid', 'link_expired', 'not_found'],
})
