/** Google's Gemini API, as an upstream. */
import { GenerateDecoder } from '../../codecs/gemini/generate-decoder.ts'
import { prepareGenerateParts, toGeneratePath, toGenerateRequest } from '../../codecs/gemini/generate-request.ts'
import { findRejectedFields, isNativeRejected } from '../../codecs/gemini/rejected-fields.ts'
import type { UpstreamFormat } from './upstream-format.ts'

export const geminiFormat: UpstreamFormat = {
  toPath: toGeneratePath,
  modelsPath: '/models?pageSize=1000',
  prepareParts: prepareGenerateParts,
  toRequest: toGenerateRequest,
  findRejectedFields,
  isNativeRejected,
  createDecoder: (requestId) => new GenerateDecoder(requestId),
}

/** Sent with each request, also for the list of models. Configured headers replace these. */
export function createGeminiHeaders(apiKey: string | null): Record<string, string> {
  return apiKey === null ? {} : { 'x-goog-api-key': apiKey }
}
