/** The Responses API: requests of Codex and OpenAI's SDKs to chat completions, and answers back to its objects and events. */
import type { ApiFormat } from '../../exchange/api-format/api-format.ts'
import { ResponsesEncoder } from '../../codecs/responses/response-encoder.ts'
import type { ResponsesState } from '../../codecs/responses/response-encoder.ts'
import { toFailureReply } from '../../codecs/responses/failures.ts'
import { translateRequest } from './request.ts'

export const responsesFormat: ApiFormat<ResponsesState> = {
  name: 'responses',
  toChat: translateRequest,
  createEncoder: (context) => new ResponsesEncoder(context),
  toFailureReply,
}
