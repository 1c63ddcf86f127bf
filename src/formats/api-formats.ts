/** All API formats other than chat completions, with the paths whose requests and failures are in that format. */
import type { ApiFormat } from '../exchange/api-format/api-format.ts'
import { createGeminiFormat, isGeminiPath } from './gemini/gemini-format.ts'
import { messagesFormat } from './messages/messages-format.ts'
import { responsesFormat } from './responses/responses-format.ts'

interface ApiFormatEntry {
  /** The endpoint; paths below it have the same format of failures. */
  readonly path: string
  readonly format: ApiFormat
}

/** Counting tokens needs no cap on an answer. */
const tokenCountFormat: typeof messagesFormat = {
  ...messagesFormat,
  toChat: (body, context) => messagesFormat.toChat({ ...body, max_tokens: 1 }, context),
}

/** The first entry that matches a path counts. */
const apiFormats: readonly ApiFormatEntry[] = [
  { path: '/v1/responses', format: responsesFormat },
  { path: '/v1/messages/count_tokens', format: tokenCountFormat },
  { path: '/v1/messages', format: messagesFormat },
]

export function findApiFormat(path: string): ApiFormat | undefined {
  if (isGeminiPath(path)) return createGeminiFormat(path)
  return apiFormats.find((entry) => path === entry.path || path.startsWith(`${entry.path}/`))?.format
}
