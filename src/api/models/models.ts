/** The products in the caller's plan: one list that clients of OpenAI, Anthropic and Google read, each by the fields that it knows. */
import { z } from 'zod'
import { defineEndpoint } from '../endpoint.ts'
import { geminiModel } from './gemini.ts'
import { count, createListSchema, instant, price, tier } from '../fields.ts'

const model = z
  .strictObject({
    id: z.string(),
    object: z.literal('model'),
    created: count,
    owned_by: z.string(),
    name: z.string(),
    /** The next five are Anthropic's names. */
    type: z.literal('model'),
    display_name: z.string(),
    created_at: instant,
    max_input_tokens: count,
    max_tokens: count,
    tier,
    capabilities: z.array(z.enum(['chat', 'tools', 'vision', 'search', 'image', 'embedding'])),
    context_length: count,
    max_output_tokens: count,
    pricing: z.strictObject(price),
    shutdown_date: z.iso.date().nullable(),
  })
  .meta({ id: 'Model' })

export const listModels = defineEndpoint({
  method: 'get',
  path: '/v1/models',
  security: 'api_credential',
  summary: 'Lists the products in the plan, all of them unless `limit` is sent.',
  query: z.object({
    limit: z.coerce.number().int().min(1).max(1000).optional(),
    after_id: z.string().min(1).optional(),
    before_id: z.string().min(1).optional(),
    client_version: z.string().optional(),
  }),
  response: createListSchema(model, {
    has_more: z.boolean(),
    first_id: z.string().nullable(),
    last_id: z.string().nullable(),
    models: z.array(geminiModel).optional().meta({
      description:
        'For Codex, which sends `client_version`: it keeps its own settings where this list is empty. For Google’s SDKs, which send `x-goog-api-key`: the products in their form.',
    }),
  }),
  errors: [],
})

export const showModel = defineEndpoint({
  method: 'get',
  path: '/v1/models/{id}',
  security: 'api_credential',
  summary: 'Returns one product.',
  // Google’s SDKs, which send `x-goog-api-key`, receive their own fields as well.
  response: z.strictObject({ ...model.shape, ...geminiModel.omit({ name: true }).partial().shape }).meta({ id: 'OneModel' }),
  errors: ['not_found'],
})
