/** Marks up to which a prompt is to be cached: on messages, on their parts and calls, and on tools. */
import { breakpointsField } from '../anthropic-fields.ts'
import { isRecord } from '../chat-request.ts'

/** Fields that buy something: a paid cache, or what a vendor reads from them. */
export const paidFields = ['cache_control', 'prompt_cache_breakpoint', 'extra_body'] as const

type PaidField = (typeof paidFields)[number]

/** Writing to the cache for an hour costs the operator twice the price of input, so every mark has the default of five minutes. */
export function toCacheControl(value: unknown): { readonly type: 'ephemeral' } | null {
  return isRecord(value) && value['type'] === 'ephemeral' ? { type: 'ephemeral' } : null
}

/** The names of such fields in a list of messages or tools. */
export function listPaidFields(items: unknown): readonly PaidField[] {
  const names = new Set<PaidField>()
  if (Array.isArray(items)) for (const item of items as unknown[]) addNames(item, names)
  return [...names]
}

function addNames(item: unknown, names: Set<PaidField>): void {
  if (!isRecord(item)) return
  for (const name of paidFields) if (item[name] !== undefined) names.add(name)
  if (item[breakpointsField] !== undefined) names.add('cache_control')
  const { content, function: inner, tool_calls: calls } = item
  for (const list of [content, calls]) if (Array.isArray(list)) for (const each of list as unknown[]) addNames(each, names)
  if (isRecord(inner)) addNames(inner, names)
}
