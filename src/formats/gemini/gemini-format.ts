/**
 * Google's Gemini API: `POST /v1beta/models/{product}:generateContent` and its neighbours, also below `/v1`, which newer SDKs use. The address
 * has the model and the method.
 */
import type { ApiFormat, JsonObject } from '../../exchange/api-format/api-format.ts'
import { toFailureReply } from '../../codecs/gemini/failures.ts'
import { GenerateEncoder } from '../../codecs/gemini/generate-encoder.ts'
import type { GeminiState } from '../../codecs/gemini/generate-encoder.ts'
import { toChat, toCountedChat } from './request.ts'

const methodPattern = /^\/v1(?:beta)?\/models\/([^/]+):(\w+)$/

/** Whether requests to this path, and their failures, have the form of this API. */
export function isGeminiPath(path: string): boolean {
  return path.startsWith('/v1beta/') || methodPattern.test(path)
}

/** The format of a request to this path. */
export function createGeminiFormat(path: string): ApiFormat<GeminiState> {
  const [, encodedModel = '', method = ''] = methodPattern.exec(path) ?? []
  const addressFields: JsonObject =
    encodedModel === ''
      ? {}
      : { model: decodeModel(encodedModel), ...(method === 'streamGenerateContent' ? { stream: true } : {}) }
  return {
    name: 'gemini',
    addressFields,
    toChat: method === 'countTokens' ? toCountedChat : toChat,
    createEncoder: (context) => new GenerateEncoder(context),
    toFailureReply,
  }
}

/** A model that is no valid text is an unknown one. */
function decodeModel(encoded: string): string {
  try {
    return decodeURIComponent(encoded)
  } catch {
    return encoded
  }
}
