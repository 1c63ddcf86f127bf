import { isRecord } from '../../../exchange/request/chat-request.ts'

/** The list with its objects encoded; the same list where none changes, so that its text need not be written again. */
export function mapItems(
  items: readonly unknown[],
  encode: (item: Readonly<Record<string, unknown>>, index: number) => Readonly<Record<string, unknown>>,
): readonly unknown[] {
  const encodedItems = items.map((item, i) => (isRecord(item) ? encode(item, i) : item))
  return encodedItems.every((item, i) => item === items[i]) ? items : encodedItems
}
