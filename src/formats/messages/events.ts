/** Server-sent events of the Messages API. The SDK skips an event without its `event:` line. */

export function toEvent(type: string, fields: object = {}): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`
}
