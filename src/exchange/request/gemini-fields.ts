/**
 * Private fields of a chat request: what Google's Gemini API has, and a chat completion has no place for. The translation of that API sets
 * them, and only an upstream of `kind: 'gemini'` receives them.
 */

/** Of the body: `generationConfig.thinkingConfig` as the client sent it. */
export const thinkingConfigField = 'gemini_thinking'

/** Of the body: `safetySettings` as the client sent them, and settings of `generationConfig` without a counterpart. */
export const geminiSettingsField = 'gemini_settings'

/**
 * Of an assistant message or a delta: signatures of thoughts, as in `{ id, extra_content: { google: { thought_signature } } }`, where `id`
 * names the call that the model signed; without it the text is signed.
 */
export const callSignaturesField = 'call_signatures'

/** Of a message of the role `tool`: true for the result of a call that failed, from any API that has such a flag. */
export const toolErrorField = 'tool_error'

/** Fields of a call that hold a signature: Gemini's compatible endpoint, LiteLLM, Vercel's gateway. */
export const signatureFields = ['extra_content', 'provider_specific_fields', 'thought_signature'] as const
