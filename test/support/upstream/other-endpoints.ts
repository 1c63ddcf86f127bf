/** The answers of the fake upstream at the endpoints for images and embeddings. */
import { z } from 'zod'
import { paintPng } from '../../../src/demo-upstream/png.ts'
import { parseRequest } from '../../../src/demo-upstream/request.ts'
import { toTokens } from '../../../src/demo-upstream/tokens.ts'

const imageTokens = 196

const imagesSchema = z.looseObject({
  model: z.string().optional(),
  prompt: z.string(),
  n: z.number().int().min(1).max(10).nullish(),
})

const tokensSchema = z.array(z.number())
const embeddingsSchema = z.looseObject({
  model: z.string(),
  input: z.union([z.string(), tokensSchema, z.array(z.union([z.string(), tokensSchema]))]),
  dimensions: z.number().int().min(1).optional(),
})

/** The answer to `POST /v1/images/generations`. */
export function createImages(body: string, created: number): object {
  const { prompt, n } = parseRequest(imagesSchema, body)
  const data = Array.from({ length: n ?? 1 }, (_, nth) => ({
    b64_json: paintPng(`${prompt} ${nth}`).toString('base64'),
    revised_prompt: prompt,
  }))
  const input = toTokens(prompt).length
  const output = data.length * imageTokens
  const usage = { input_tokens: input, output_tokens: output, total_tokens: input + output }
  return { created, data, output_format: 'png', usage }
}

/** The answer to `POST /v1/embeddings`. */
export function createEmbeddings(body: string): object {
  const { model, input, dimensions = 8 } = parseRequest(embeddingsSchema, body)
  const inputs = typeof input === 'string' || typeof input[0] === 'number' ? [input] : input
  const texts = inputs.map((each) => (typeof each === 'string' ? each : JSON.stringify(each)))
  const data = texts.map((text, index) => ({
    object: 'embedding',
    index,
    embedding: Array.from({ length: dimensions }, (_, place) => (text.charCodeAt(place % text.length) % 64) / 64),
  }))
  const tokens = texts.reduce((sum, text) => sum + toTokens(text).length, 0)
  return { object: 'list', data, model, usage: { prompt_tokens: tokens, total_tokens: tokens } }
}
