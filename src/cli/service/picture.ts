/** Fetches a picture from its signed link, and believes its bytes rather than its name. */
import type { Context } from '../context.ts'
import { CommandFailure } from '../failure.ts'

export interface Picture {
  readonly bytes: Uint8Array
  readonly type: string
  /** With its dot. */
  readonly extension: string
}

const largestPictureBytes = 64 * 1024 * 1024
const defaultTimeoutMs = 120_000

/** No credential goes with it: the link may point anywhere. */
export async function fetchPicture(context: Context, link: string): Promise<Picture> {
  const stop = AbortSignal.any([context.signal, AbortSignal.timeout(context.timeoutMs ?? defaultTimeoutMs)])
  const host = new URL(link).host
  let bytes: Uint8Array
  try {
    const response = await fetch(link, { signal: stop })
    if (!response.ok) throw unavailable(host, `HTTP ${response.status}`)
    bytes = await readAtMost(response, largestPictureBytes, host)
  } catch (error) {
    if (error instanceof CommandFailure || context.signal.aborted) throw error
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error
    throw unavailable(host, cause instanceof Error ? cause.message : String(cause))
  }
  const kind = kindOf(bytes)
  if (kind === undefined) throw unavailable(host, 'it is not a PNG, JPEG, WebP or GIF picture')
  return { bytes, ...kind }
}

async function readAtMost(response: Response, limit: number, host: string): Promise<Uint8Array> {
  const pieces: Uint8Array[] = []
  let length = 0
  for await (const piece of response.body ?? []) {
    length += piece.length
    if (length > limit) throw unavailable(host, `it is larger than ${limit / 1024 / 1024} MiB`)
    pieces.push(piece)
  }
  return Buffer.concat(pieces)
}

/** By the first bytes: what a server calls it decides nothing about what is written to a file. */
function kindOf(bytes: Uint8Array): { readonly type: string; readonly extension: string } | undefined {
  const head = Buffer.from(bytes.subarray(0, 12)).toString('latin1')
  if (head.startsWith('\u0089PNG\r\n\u001a\n')) return { type: 'image/png', extension: '.png' }
  if (head.startsWith('\u00ff\u00d8\u00ff')) return { type: 'image/jpeg', extension: '.jpg' }
  if (head.startsWith('RIFF') && head.slice(8) === 'WEBP') return { type: 'image/webp', extension: '.webp' }
  return head.startsWith('GIF8') ? { type: 'image/gif', extension: '.gif' } : undefined
}

function unavailable(host: string, why: string): CommandFailure {
  return new CommandFailure(
    'picture_unavailable',
    { en: `The picture could not be fetched from ${host}: ${why}.`, zh: `无法从 ${host} 获取图片:${why}。` },
    { exit: 'tryAgain', details: { host, cause: why } },
  )
}
