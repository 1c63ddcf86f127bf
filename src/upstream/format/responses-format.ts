/** OpenAI's Responses API, as an upstream. */
import type { UpstreamFormat } from './upstream-format.ts'
import { findRejectedFields, isNativeRejected } from '../../codecs/responses/request/rejected-fields.ts'
import { ResponseDecoder } from '../../codecs/responses/response-decoder.ts'
import { prepareResponsesParts, toResponsesRequest } from '../../codecs/responses/request/responses-request.ts'

export const responsesFormat: UpstreamFormat = {
  toPath: () => '/responses',
  modelsPath: '/models',
  prepareParts: prepareResponsesParts,
  toRequest: toResponsesRequest,
  findRejectedFields,
  isNativeRejected,
  createDecoder: (requestId) => new ResponseDecoder(requestId),
}
