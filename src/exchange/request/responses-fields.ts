/**
 * Private fields of a chat request: what the Responses API has, and a chat completion has no place for. Only an upstream with
 * `responses: true` receives them, and its answers set `reasoningItemsField` in messages and deltas.
 */

/** Of an assistant message or a delta: its `reasoning` items with their encrypted content. */
export const reasoningItemsField = 'responses_reasoning'

/** Of the body: the tools among its functions that take free text, as `CustomTool[]`. */
export const customToolsField = 'responses_custom_tools'

/** Of the body: `reasoning.summary`. */
export const summaryField = 'responses_reasoning_summary'

/** Of the body: whether encrypted reasoning is requested. */
export const encryptedReasoningField = 'responses_encrypted_reasoning'

/** A tool with free text, which the request also has as a function with the one argument `input`. */
export interface CustomTool {
  /** The name of the function. */
  readonly name: string
  readonly description?: string
  /** The grammar of the text. */
  readonly format?: unknown
}
