/** Downloads an image from its signed link and detects its type from its bytes, not from its name. */
import type { Context } from '../../context.ts'
import { CommandFailure } from '../../failure.ts'
import '../../../system/vendor/undici-fetch.ts'

interface DownloadedImage {
  readonly bytes: Uint8Array
  readonly type: string
  /** Includes the dot. */
  readonly extension: string
}

const maxImageBytes = 64 * 1024 * 1024
const defaultTimeoutMs = 120_000

/** Sends no credential, because the link may lead to any host. */
export async function downloadImage(context: Context, link: string): Promise<DownloadedImage> {
  const stop = AbortSignal.any([context.signal, AbortSignal.timeout(context.timeoutMs ?? defaultTimeoutMs)])
  const host = new URL(link).host
  let bytes: Uint8Array
  try {
    const response = await fetch(link, { signal: stop })
    if (!response.ok) throw createUnavailableFailure(host, `HTTP ${response.status}`)
    bytes = await readLimited(response, maxImageBytes, host)
  } catch (error) {
    if (error instanceof CommandFailure || context.signal.aborted) throw error
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error
    throw createUnavailableFailure(host, cause instanceof Error ? cause.message : String(cause))
  }
  const kind = sniffImageType(bytes)
  if (kind === undefined) throw createUnavailableFailure(host, 'it is not a PNG, JPEG, WebP or GIF image')
  return { bytes, ...kind }
}

async function readLimited(response: Response, limit: number, host: string): Promise<Uint8Array> {
  const pieces: Uint8Array[] = []
  let length = 0
  for await (const piece of response.body ?? []) {
    length += piece.length
    if (length > limit) throw createUnavailableFailure(host, `it is larger than ${limit / 1024 / 1024} MiB`)
    pieces.push(piece)
  }
  return Buffer.concat(pieces)
}

/** Detects the type from the first bytes: the server's content type must not decide what is written to a file. */
function sniffImageType(bytes: Uint8Array): { readonly type: string; readonly extension: string } | undefined {
  const head = Buffer.from(bytes.subarray(0, 12)).toString('latin1')
  if (head.startsWith('\u0089PNG\r\n\u001a\n')) return { type: 'image/png', extension: '.png' }
  if (head.startsWith('\u00ff\u00d8\u00ff')) return { type: 'image/jpeg', extension: '.jpg' }
  if (head.startsWith('RIFF') && head.slice(8) === 'WEBP') return { type: 'image/webp', extension: '.webp' }
  return head.startsWith('GIF8') ? { type: 'image/gif', extension: '.gif' } : undefined
}

function createUnavailableFailure(host: string, why: string): CommandFailure {
  return new CommandFailure(
    'picture_unavailable',
    { en: `The image could not be downloaded from ${host}: ${why}.`, zh: `无法从 ${host} 获取图片：${why}。` },
    { exit: 'tryAgain', details: { host, cause: why } },
  )
}
