/** Anthropic's Messages API, as an upstream. */
import type { UpstreamFormat } from './upstream-format.ts'
import { toBetaHeader } from '../../codecs/messages/request/beta-header.ts'
import { findRejectedFields, isNativeRejected } from '../../codecs/messages/request/rejected-fields.ts'
import { MessageDecoder } from '../../codecs/messages/message-decoder.ts'
import { prepareMessagesParts, toMessagesRequest } from '../../codecs/messages/request/messages-request.ts'

export const anthropicFormat: UpstreamFormat = {
  toPath: () => '/messages',
  modelsPath: '/models?limit=1000',
  prepareParts: prepareMessagesParts,
  toRequest: toMessagesRequest,
  findRejectedFields,
  isNativeRejected,
  toHeaders: toBetaHeader,
  createDecoder: (requestId) => new MessageDecoder(requestId),
}

/** Sent with each request, also for the list of models. Configured headers replace these. */
export function createAnthropicHeaders(apiKey: string | null): Record<string, string> {
  return { 'anthropic-version': apiVersion, ...(apiKey === null ? {} : { 'x-api-key': apiKey }) }
}

const apiVersion = '2023-06-01'
