/** Google's Gemini API, as an upstream. */
import { AnswerChunks } from '../codecs/gemini/answer-chunks.ts'
import { GenerateDecoder } from '../codecs/gemini/generate-decoder.ts'
import { prepareGenerateParts, toGeneratePath, toGenerateRequest } from '../codecs/gemini/generate-request.ts'
import { findRejectedFields } from '../codecs/gemini/rejected-fields.ts'
import type { UpstreamFormat } from './upstream-format.ts'

export const geminiFormat: UpstreamFormat = {
  toPath: toGeneratePath,
  modelsPath: '/models?pageSize=1000',
  prepareParts: prepareGenerateParts,
  toRequest: toGenerateRequest,
  findRejectedFields,
  createDecoder: (startedAt, clientFormat) => {
    const decoder = new GenerateDecoder()
    const chunks = new AnswerChunks({ startedAt, isTranslated: clientFormat !== undefined })
    return {
      decode: (event) =>
        decoder
          .decode(event)
          .map((decoded) => chunks.toChunk(decoded))
          .filter((chunk) => chunk !== null),
      toCompletion: (document) =>
        Array.isArray(document['candidates']) || document['promptFeedback'] !== undefined
          ? chunks.toCompletion(decoder.decode(document))
          : document,
    }
  },
}

/** Sent with each request, also for the list of models. Configured headers replace these. */
export function createGeminiHeaders(apiKey: string | null): Record<string, string> {
  return apiKey === null ? {} : { 'x-goog-api-key': apiKey }
}
