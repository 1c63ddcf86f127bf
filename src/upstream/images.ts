/** Where an upstream's answer holds its images: every style that is known, read into one list. */
import { isRecord } from '../exchange/chat-request.ts'
import { choicesOf } from './success.ts'

export interface Painted {
  /** What was said beside the images, without any of them in it. */
  readonly text: string
  /** Base64, or an address to fetch from. */
  readonly images: readonly PaintedImage[]
}

export type PaintedImage = { readonly kind: 'base64'; readonly data: string } | { readonly kind: 'url'; readonly url: string }

/** An answer of `/images/generations`. */
export function imagesInGenerations({ data }: Record<string, unknown>): Painted {
  const images = (Array.isArray(data) ? data : []).flatMap((item: unknown): PaintedImage[] => {
    if (!isRecord(item)) return []
    if (typeof item['b64_json'] === 'string') return [{ kind: 'base64', data: item['b64_json'] }]
    return typeof item['url'] === 'string' ? [fromUrl(item['url'])] : []
  })
  return { text: '', images }
}

/**
 * A chat completion: `message.images` (OpenRouter, Vercel), parts of the content, inline data (Gemini), or Markdown in the text.
 *
 * @throws UpstreamFailure where the completion is none
 */
export function imagesInChat(document: Record<string, unknown>, upstreamHost: string | null): Painted {
  const texts: string[] = []
  const images: PaintedImage[] = []
  for (const { message } of choicesOf(document, upstreamHost)) {
    if (!isRecord(message)) continue
    const { content } = message
    for (const part of [...listOf(content), ...listOf(message['images'])]) {
      const image = fromPart(part)
      if (image !== null) images.push(image)
      else if (isRecord(part) && typeof part['text'] === 'string') texts.push(part['text'])
    }
    if (typeof content === 'string') texts.push(content)
  }
  const { text, urls } = withoutImages(texts.join('\n'))
  for (const url of urls) images.push(fromUrl(url))
  const rest = text.replaceAll(bareData, (url) => {
    images.push(fromUrl(url))
    return ''
  })
  return { text: rest.replaceAll(/\n{3,}/g, '\n\n').trim(), images }
}

/**
 * The text without the images of its Markdown, and where those are. Each stretch between two openings is read once, from its beginning:
 * a model can be made to say nothing but openings, and a search that starts anew at each of them would stop the process for minutes.
 */
function withoutImages(text: string): { readonly text: string; readonly urls: readonly string[] } {
  const [first = '', ...stretches] = text.split(opening)
  const urls: string[] = []
  const kept = stretches.map((stretch) => {
    const found = restOfImage.exec(stretch)
    if (found?.[1] === undefined) return opening + stretch
    urls.push(found[1])
    return stretch.slice(found[0].length)
  })
  return { text: first + kept.join(''), urls }
}

const opening = '!['
/** The look ahead takes the address whole: nothing is tried with a part of it. */
const restOfImage = /^[^\]\n]*\]\(\s*<?(?=([^)\s>]+))\1>?[^)\n]*\)/
const bareData = /\bdata:[a-z]+\/[a-z0-9.+-]+;base64,[A-Za-z0-9+/=_-]+/gi

function fromPart(part: unknown): PaintedImage | null {
  if (!isRecord(part)) return null
  const url = isRecord(part['image_url']) ? part['image_url']['url'] : part['image_url']
  if (typeof url === 'string') return fromUrl(url)
  const inline = part['inlineData'] ?? part['inline_data']
  if (isRecord(inline) && typeof inline['data'] === 'string') return { kind: 'base64', data: inline['data'] }
  return typeof part['b64_json'] === 'string' ? { kind: 'base64', data: part['b64_json'] } : null
}

function fromUrl(url: string): PaintedImage {
  const comma = url.startsWith('data:') ? url.indexOf(',') : -1
  return comma === -1 ? { kind: 'url', url } : { kind: 'base64', data: url.slice(comma + 1) }
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}
