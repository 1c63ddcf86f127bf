/** The request of a call to a target. */
import { Readable } from 'node:stream'
import type { Dispatcher } from 'undici'
import { serializeBody } from '../exchange/request/raw-json.ts'
import type { ChunkedBody } from '../exchange/request/raw-json.ts'
import { readTraceparent } from '../exchange/trace-context.ts'
import type { ResponseReaderOptions } from './response/response-reader.ts'
import { chatPath } from './format/upstream-format.ts'

/** OpenAI's own name. Some servers interpret `X-Request-Id`: llama-cpp-python answers an empty 400 to an id that is no UUID. */
export const requestIdHeader = 'x-client-request-id'

type AttemptRequestOptions = Pick<ResponseReaderOptions<unknown>, 'x' | 'candidate' | 'upstream' | 'requestMode'>

export function createAttemptRequest({ x, candidate, upstream, requestMode }: AttemptRequestOptions): Dispatcher.DispatchOptions {
  const { format } = upstream
  const chat = candidate.body(requestMode)
  const isTranslated = format !== null && candidate.path === chatPath
  const body = serializeBody(isTranslated ? format.toRequest(chat) : chat)
  const traceparent = readTraceparent(x.inbound)
  const headers: Record<string, string> = {
    [requestIdHeader]: x.id,
    ...(traceparent === undefined ? {} : { traceparent }),
    ...upstream.headers,
    ...(isTranslated ? format.toHeaders?.(chat, x.inbound.headers, upstream.headers) : {}),
  }
  if (typeof body !== 'string') headers['content-length'] = String(body.bytes)
  return {
    origin: upstream.origin,
    path: upstream.basePath + (isTranslated ? format.toPath(chat) : candidate.path),
    method: 'POST',
    headers,
    body: typeof body === 'string' ? body : toReadable(body),
  }
}

/**
 * undici inspects a body before it checks whether the call was aborted, and then removes its listeners. Without this listener the "request
 * is over" error would be unhandled and end the process.
 */
function toReadable(body: ChunkedBody): Readable {
  return Readable.from(body, { objectMode: false }).on('error', () => undefined)
}
