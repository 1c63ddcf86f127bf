/** The products that the caller's plan has, as OpenAI's clients list models. */
import { z } from 'zod'
import { endpoint } from './endpoint.ts'
import { count, listOf, price, tier } from './fields.ts'

const model = z
  .strictObject({
    id: z.string(),
    object: z.literal('model'),
    created: count,
    owned_by: z.string(),
    name: z.string(),
    tier,
    capabilities: z.array(z.enum(['chat', 'tools', 'vision', 'search', 'image'])),
    context_length: count,
    max_output_tokens: count,
    pricing: z.strictObject(price),
    shutdown_date: z.iso.date().nullable(),
  })
  .meta({ id: 'Model' })

export const listModels = endpoint({
  method: 'get',
  path: '/v1/models',
  who: 'caller',
  about: 'The products that the plan has.',
  answer: listOf(model),
  errors: [],
})

export const showModel = endpoint({
  method: 'get',
  path: '/v1/models/{id}',
  who: 'caller',
  about: 'One of them.',
  answer: model,
  errors: ['not_found'],
})
