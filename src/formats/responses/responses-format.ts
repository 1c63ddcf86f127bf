/** The Responses API: requests of Codex and OpenAI's SDKs to chat completions, and answers back to its objects and events. */
import type { ApiFormat } from '../../exchange/api-format/api-format.ts'
import { ResponsesEncoder } from './encoder.ts'
import { toFailureReply } from './failures.ts'
import { translateRequest } from './request.ts'
import type { ResponsesState } from './request.ts'

export const responsesFormat: ApiFormat<ResponsesState> = {
  name: 'responses',
  toChat: translateRequest,
  createEncoder: (context) => new ResponsesEncoder(context),
  toFailureReply,
}
