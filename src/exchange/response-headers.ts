/** Headers of a response by the kind of its body, and the opening of an event stream. */
import type { AnswerEncoder } from './api-format/api-format.ts'
import type { ResponseSink } from './response-sink.ts'

export const jsonHeaders = { 'content-type': 'application/json; charset=utf-8' } as const

/** For data of one member. Caches must not store it. */
export const privateJsonHeaders = { ...jsonHeaders, 'cache-control': 'private, no-store' } as const

/** Proxies must not buffer or change an event stream. */
const streamHeaders = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
} as const

/** Sends the headers of the client's stream, unless they were sent or the client has disconnected. */
export function openStream(callContext: {
  readonly client: ResponseSink
  readonly encoder?: AnswerEncoder | undefined
  headers(): Record<string, string>
}): void {
  const { client, encoder } = callContext
  if (client.headersSent || client.disconnected) return
  const opening = encoder?.start() ?? ''
  client.writeHead(200, { ...callContext.headers(), ...streamHeaders })
  if (opening !== '') client.write(opening)
}

/** What keeps an idle stream open. Proxies drop a silent one. */
export function createHeartbeat({ encoder }: { readonly encoder?: AnswerEncoder | undefined }): string {
  return encoder?.heartbeat() ?? ': keep-alive\n\n'
}

export const doneEvent = 'data: [DONE]\n\n'
