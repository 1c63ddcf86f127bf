/** Parses requests to the demo upstream, and rejects malformed ones. */
import { z } from 'zod'
import { parseJson } from '../system/parse-json.ts'

/** The fields of a chat request that the demo upstream uses; other fields are accepted and ignored. */
export type ChatRequest = z.infer<typeof chatSchema>

/** An invalid request, in the format of OpenAI's error object. */
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
  return parseRequest(chatSchema, body)
}

/** The text of a message, in any form of content. */
export function getMessageText(message: ChatMessage | undefined): string {
  const content = message?.content
  if (typeof content === 'string') return content
  return (content ?? []).map((part) => part.text ?? '').join('')
}

export function getLastUserText({ messages }: ChatRequest): string {
  return getMessageText(messages.findLast((message) => message.role === 'user'))
}

const part = z.looseObject({ type: z.string(), text: z.string().optional() })
const message = z.looseObject({ role: z.string(), content: z.union([z.string(), z.array(part), z.null()]).optional() })
type ChatMessage = z.infer<typeof message>

const tool = z.looseObject({
  type: z.string(),
  function: z.looseObject({ name: z.string(), parameters: z.unknown().optional() }).optional(),
  custom: z.looseObject({ name: z.string() }).optional(),
})
export type Tool = z.infer<typeof tool>

const length = z.number().int().positive().nullish()

const chatSchema = z.looseObject({
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

/** @throws BadRequest that names the field */
export function parseRequest<T>(schema: z.ZodType<T>, body: string): T {
  let value: unknown
  try {
    value = parseJson(body)
  } catch {
    throw new BadRequest('The body of the request is not valid JSON.', { code: 'invalid_json' })
  }
  const result = schema.safeParse(value)
  if (result.success) return result.data
  const issue = result.error.issues[0]
  const param = issue?.path.join('.') ?? ''
  throw new BadRequest(`Invalid value for '${param}': ${issue?.message ?? 'unknown'}.`, { param: param === '' ? null : param })
}
