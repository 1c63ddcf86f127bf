/** Extracts the images of an upstream's response, from every known format. */
import { toPictureUrl } from '../../codecs/chat/picture-parts.ts'
import { isRecord } from '../../exchange/request/chat-request.ts'
import { validateChoices } from './validate-completion.ts'

interface GeneratedImages {
  /** The text of the response without the images. */
  readonly text: string
  /** Base64, or a URL to fetch. */
  readonly images: readonly GeneratedImage[]
}

export type GeneratedImage = { readonly kind: 'base64'; readonly data: string } | { readonly kind: 'url'; readonly url: string }

/** A response of `/images/generations`. */
export function parseGenerationsImages({ data }: Record<string, unknown>): GeneratedImages {
  const images = (Array.isArray(data) ? data : []).flatMap((item: unknown): GeneratedImage[] => {
    if (!isRecord(item)) return []
    if (typeof item['b64_json'] === 'string') return [{ kind: 'base64', data: item['b64_json'] }]
    return typeof item['url'] === 'string' ? [parseImageUrl(item['url'])] : []
  })
  return { text: '', images }
}

/**
 * A chat completion: `message.images` (OpenRouter, Vercel), parts of the content, inline data (Gemini), or Markdown in the text.
 *
 * @throws UpstreamFailure if the document is no completion
 */
export function parseChatImages(document: Record<string, unknown>, upstreamHost: string | null): GeneratedImages {
  const texts: string[] = []
  const images: GeneratedImage[] = []
  for (const { message } of validateChoices(document, upstreamHost)) {
    if (!isRecord(message)) continue
    const { content } = message
    for (const part of [...toArray(content), ...toArray(message['images'])]) {
      const image = parseImagePart(part)
      if (image !== null) images.push(image)
      else if (isRecord(part) && typeof part['text'] === 'string') texts.push(part['text'])
    }
    if (typeof content === 'string') texts.push(content)
  }
  const { text, urls } = extractMarkdownImages(texts.join('\n'))
  for (const url of urls) images.push(parseImageUrl(url))
  const rest = text.replaceAll(dataUrlPattern, (url) => {
    images.push(parseImageUrl(url))
    return ''
  })
  return { text: rest.replaceAll(/\n{3,}/g, '\n\n').trim(), images }
}

/**
 * Splits Markdown images from the text. Each stretch between two `![` is matched once from its beginning: a model can be made to write
 * nothing but `![`, and a search restarted at each of them would block the process for minutes.
 */
function extractMarkdownImages(text: string): { readonly text: string; readonly urls: readonly string[] } {
  const [first = '', ...stretches] = text.split(imageOpening)
  const urls: string[] = []
  const remainingStretches = stretches.map((stretch) => {
    const imageMatch = imageRestPattern.exec(stretch)
    if (imageMatch?.[1] === undefined) return imageOpening + stretch
    urls.push(imageMatch[1])
    return stretch.slice(imageMatch[0].length)
  })
  return { text: first + remainingStretches.join(''), urls }
}

const imageOpening = '!['
/** The lookahead matches the address as a whole, which prevents backtracking into it. */
const imageRestPattern = /^[^\]\n]*\]\(\s*<?(?=([^)\s>]+))\1>?[^)\n]*\)/
const dataUrlPattern = /\bdata:[a-z]+\/[a-z0-9.+-]+;base64,[A-Za-z0-9+/=_-]+/gi

function parseImagePart(part: unknown): GeneratedImage | null {
  const url = isRecord(part) ? toPictureUrl(part) : null
  return url === null ? null : parseImageUrl(url)
}

function parseImageUrl(url: string): GeneratedImage {
  const comma = url.startsWith('data:') ? url.indexOf(',') : -1
  return comma === -1 ? { kind: 'url', url } : { kind: 'base64', data: url.slice(comma + 1) }
}

function toArray(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}
