/**
 * Private fields of a chat request: what Anthropic's API has, and a chat completion has no place for. The translation of the Messages API
 * sets them, only an upstream of `kind: 'anthropic'` receives them, and its answers set `thinkingField` in messages and deltas.
 */

/** Of an assistant message or a delta: its `thinking` and `redacted_thinking` blocks with their signatures. */
export const thinkingField = 'anthropic_thinking'

/** Of a message whose content is a text: `CacheBreakpoint[]`. Parts and tools have `cache_control` itself. */
export const breakpointsField = 'anthropic_cache'

/** Of the body: `thinking` and `output_config.effort` as the client sent them. */
export const thinkingSettingsField = 'anthropic_thinking_settings'
export const effortField = 'anthropic_effort'

/** A place in a text up to which the prompt is to be cached. */
export interface CacheBreakpoint {
  /** UTF-16 units from the start of the content. */
  readonly end: number
  readonly cache_control: unknown
}
