/** Pages of lists, whose cursor is the id of their last item. */

/** A page of one more item than its limit has a next one. */
export function toPage<Item extends { readonly id: string }>(items: readonly Item[], limit: number) {
  const data = items.slice(0, limit)
  return { object: 'list', data, next_cursor: items.length > limit ? (data.at(-1)?.id ?? null) : null } as const
}
