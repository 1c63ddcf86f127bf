/** What the demonstration upstream reads of a request, and how it refuses one that is malformed. */
import { z } from 'zod'

/** The parts of a chat request that the demonstration upstream acts on; everything else is accepted and ignored. */
export type ChatRequest = z.infer<typeof chatShape>

/** What is wrong with a request, in the words of OpenAI's error object. */
export class BadRequest extends Error {
  readonly status: number
  readonly code: string
  readonly param: string | null

  constructor(message: string, { status = 400, code = 'invalid_value', param = null as string | null } = {}) {
    super(message)
    this.name = 'BadRequest'
    this.status = status
    this.code = code
    this.param = param
  }
}

export function parseChat(body: string): ChatRequest {
  return check(chatShape, body)
}

/** Parses the body of `POST /images/generations`. */
export function parseImages(body: string): ImagesRequest {
  return check(imagesShape, body)
}

/** The words of a message, whatever form its content has. */
export function textOf(message: ChatMessage | undefined): string {
  const content = message?.content
  if (typeof content === 'string') return content
  return (content ?? []).map((part) => part.text ?? '').join('')
}

export function lastUserText({ messages }: ChatRequest): string {
  return textOf(messages.findLast((message) => message.role === 'user'))
}

const part = z.looseObject({ type: z.string(), text: z.string().optional() })
const message = z.looseObject({ role: z.string(), content: z.union([z.string(), z.array(part), z.null()]).optional() })
export type ChatMessage = z.infer<typeof message>

const tool = z.looseObject({
  type: z.string(),
  function: z.looseObject({ name: z.string(), parameters: z.unknown().optional() }).optional(),
  custom: z.looseObject({ name: z.string() }).optional(),
})
export type Tool = z.infer<typeof tool>

const length = z.number().int().positive().nullish()

const chatShape = z.looseObject({
  model: z.string(),
  messages: z.array(message).min(1),
  stream: z.boolean().nullish(),
  stream_options: z.looseObject({ include_usage: z.boolean().nullish() }).nullish(),
  max_tokens: length,
  max_completion_tokens: length,
  n: z.number().int().min(1).max(128).nullish(),
  stop: z.union([z.string(), z.array(z.string())]).nullish(),
  tools: z.array(tool).nullish(),
  tool_choice: z.unknown().optional(),
  response_format: z
    .looseObject({ type: z.string(), json_schema: z.looseObject({ schema: z.unknown().optional() }).optional() })
    .nullish(),
})

const imagesShape = z.looseObject({
  model: z.string().optional(),
  prompt: z.string(),
  n: z.number().int().min(1).max(10).nullish(),
})
export type ImagesRequest = z.infer<typeof imagesShape>

function check<T>(shape: z.ZodType<T>, body: string): T {
  let value: unknown
  try {
    value = JSON.parse(body)
  } catch {
    throw new BadRequest('The body of the request is not valid JSON.', { code: 'invalid_json' })
  }
  const read = shape.safeParse(value)
  if (read.success) return read.data
  const issue = read.error.issues[0]
  const param = issue?.path.join('.') ?? ''
  throw new BadRequest(`Invalid value for '${param}': ${issue?.message ?? 'unknown'}.`, { param: param === '' ? null : param })
}
