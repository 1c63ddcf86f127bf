/** The image product: an upstream paints, the bytes are kept here, and the chat answers with links to them. */
import { invalidRequest } from '../../errors.ts'
import { completionAnswer } from '../../exchange/completion-answer.ts'
import { fieldsOf, isRecord, lastUserMessage } from '../../exchange/chat-request.ts'
import type { ChatRequest } from '../../exchange/chat-request.ts'
import { messagesFor, paintingFields } from '../../exchange/fields.ts'
import { privateJsonHeaders } from '../../exchange/headers.ts'
import type { Answer, Exchange, Slots, Usage } from '../../exchange/exchange.ts'
import { ClientLeft } from '../../exchange/outcome.ts'
import type { Wire } from '../../exchange/run.ts'
import type { ImageRecord } from '../../membership/image.ts'
import type { Services } from '../../gateway/services.ts'
import { askInstead } from '../../upstream/ask-instead.ts'
import { UpstreamFailure } from '../../exchange/upstream-failure.ts'
import type { Forwarder } from '../../upstream/forward.ts'
import { imagesInChat, imagesInGenerations } from '../../upstream/images.ts'
import type { PaintedImage } from '../../upstream/images.ts'
import type { UpstreamDocument } from '../../upstream/reading.ts'
import { noSuccess } from '../../upstream/success.ts'
import { isPossible, usageOf } from '../../upstream/usage.ts'
import { ImageLinks } from './link.ts'
import { RemoteImages } from './remote.ts'

const dayMs = 86_400_000
/** Of one answer; a model that names more is not painting but listing. */
const mostImages = 8
const longestAlt = 80

export class Painter {
  readonly #services: Services
  readonly #forwarder: Forwarder
  readonly #links: ImageLinks
  readonly #remote: RemoteImages

  constructor(services: Services, forwarder: Forwarder) {
    this.#services = services
    this.#forwarder = forwarder
    this.#links = new ImageLinks(services.secret)
    this.#remote = new RemoteImages({ maxBytes: services.config.images.maxBytes })
  }

  /** The call of a chat with the image product. */
  async chat(x: Exchange & Partial<Slots>, wire: Wire): Promise<Answer> {
    const { text, kept, usage, prompt, stream } = await this.#paint(x, wire)
    const alt = altOf(prompt)
    const links = this.#linksTo(kept).map((link) => `![${alt}](${link})`)
    await wire.accepted({ status: 200, stream })
    return completionAnswer({ content: [text, ...links].filter((line) => line !== '').join('\n') }, { x, wire, usage })
  }

  /** The call of a picture by the images API: links, or the bytes themselves where they were asked for. */
  async pictures(x: Exchange & Partial<Slots>, wire: Wire): Promise<Answer> {
    const { kept, usage, upstreamHost } = await this.#paint(x, wire)
    // There is no place for words here; words alone are no picture, and nobody pays for them.
    if (kept.length === 0) throw noSuccess('empty', upstreamHost)
    const asBytes = x.chat !== undefined && fieldsOf(x.chat)['response_format'] === 'b64_json'
    const data = asBytes
      ? kept.map(({ bytes }) => ({ b64_json: bytes.toString('base64') }))
      : this.#linksTo(kept).map((url) => ({ url }))
    const { inputTokens, outputTokens } = usage
    const body = {
      created: Math.floor(x.startedAt / 1000),
      data,
      usage: { input_tokens: inputTokens, output_tokens: outputTokens, total_tokens: inputTokens + outputTokens },
    }
    await wire.accepted({ status: 200, stream: false })
    return { usage, last: { kind: 'reply', reply: { status: 200, headers: privateJsonHeaders, body: JSON.stringify(body) } } }
  }

  /** @throws GatewayError `link_invalid`, or `link_expired` */
  checkLink(name: string, query: { readonly exp: unknown; readonly sig: unknown }): void {
    this.#links.check(name, query, this.#services.clock.now())
  }

  close(): Promise<void> {
    return this.#remote.close()
  }

  /** What the upstream painted, kept here. @throws UpstreamFailure where it painted nothing and said nothing */
  async #paint(x: Exchange & Partial<Slots>, wire: Wire): Promise<Painting> {
    const { chat, caller } = x
    if (chat === undefined || caller === undefined)
      throw new UpstreamFailure({ kind: 'unconfigured', reason: 'no plugin fills chat and caller' }, null)
    const asked = promptOf(chat)
    const { document, upstreamHost } = await this.#ask(x, wire, asked)
    const { text, images } =
      this.#services.config.images.style === 'generations' ? imagesInGenerations(document) : imagesInChat(document, upstreamHost)
    const usage = usageIn(document, x, images.length)
    // Painted they have been, and are paid for; there is only nobody to keep them for.
    if (wire.client.left) throw new ClientLeft(usage)
    const kept = await this.#keep(images.slice(0, mostImages), caller.account.id, wire)
    if (kept.length === 0 && wire.client.left) throw new ClientLeft(usage)
    // Words alone are an answer too (a question back, a refusal); images that cannot be shown are none.
    if (kept.length === 0 && (images.length > 0 || text === '')) throw noSuccess('empty', upstreamHost)
    // One that cannot be shown has not come; how many could be is not known where nobody waited.
    const pieces = Math.max(1, Math.min(usage.pieces ?? 1, kept.length))
    const charged = wire.client.left || usage.pieces === undefined ? usage : { ...usage, pieces }
    return { text, kept, usage: charged, upstreamHost, prompt: asked.prompt, stream: chat.stream }
  }

  #linksTo(kept: readonly Kept[]): string[] {
    const { config, clock, origins } = this.#services
    const expires = clock.now() + config.images.linkDays * dayMs
    return kept.map(({ image }) => origins.base + this.#links.to(image, expires))
  }

  #ask(x: Exchange & Partial<Slots>, wire: Wire, { prompt, chat, hasImages }: Asked): Promise<UpstreamDocument> {
    const { upstreams, config } = this.#services
    if (config.images.style === 'chat') {
      const body = { ...paintingFields(chat), messages: messagesFor(chat, 'developer'), modalities: ['image', 'text'] }
      return this.#forwarder.document(x, askInstead(x, upstreams, '/chat/completions', body), wire)
    }
    if (prompt === '')
      throw invalidRequest(
        { en: "the last message of the role 'user' must say what to paint.", zh: "最后一条 'user' 消息必须说明要绘制的内容。" },
        'messages',
      )
    if (hasImages)
      throw invalidRequest(
        {
          en: 'this model paints from words alone; leave images out of the message.',
          zh: '该模型只能根据文字生成图片,请去掉消息中的图片。',
        },
        'messages',
      )
    const body = { prompt, n: chat.choices, ...paintingFields(chat) }
    return this.#forwarder.document(x, askInstead(x, upstreams, '/images/generations', body), wire)
  }

  async #keep(images: readonly PaintedImage[], account: string, { client }: Wire): Promise<Kept[]> {
    const gone = new AbortController()
    client.onLeave(() => gone.abort())
    const kept: Kept[] = []
    for (const painted of images) {
      const bytes = painted.kind === 'base64' ? this.#decoded(painted.data) : await this.#remote.fetch(painted.url, gone.signal)
      if (bytes === null) continue
      const image = await this.#services.images.put(bytes, account)
      if (image !== null && !kept.some(({ image: { hash } }) => hash === image.hash)) kept.push({ image, bytes })
    }
    return kept
  }

  #decoded(base64: string): Buffer | null {
    return base64.length / 4 > this.#services.config.images.maxBytes / 3 + 1 ? null : Buffer.from(base64, 'base64')
  }
}

interface Kept {
  readonly image: ImageRecord
  readonly bytes: Buffer
}

interface Painting {
  /** What was said beside the images. */
  readonly text: string
  readonly kept: readonly Kept[]
  readonly usage: Usage
  readonly upstreamHost: string
  readonly prompt: string
  readonly stream: boolean
}

interface Asked {
  readonly chat: ChatRequest
  /** The text of the last user message. */
  readonly prompt: string
  readonly hasImages: boolean
}

function usageIn(document: Record<string, unknown>, x: Partial<Slots>, images: number): Usage {
  const { hold, chat } = x
  // Each that was asked for and came has its fixed price, where nothing better is reported.
  const pieces = Math.max(1, Math.min(images, chat?.choices ?? 1))
  const estimate: Usage = { inputTokens: hold?.inputEstimate ?? 0, outputTokens: 0, estimated: true, pieces }
  const reported = usageOf(document['usage'])
  // Pictures are many tokens: a report of none is no report.
  if (reported === null || reported.outputTokens === 0) return estimate
  return isPossible(reported, x) ? { ...reported, estimated: false } : { ...estimate, contradicted: reported }
}

function promptOf(chat: ChatRequest): Asked {
  const last = lastUserMessage(chat)
  const content = isRecord(last) ? last['content'] : undefined
  if (typeof content === 'string') return { chat, prompt: content.trim(), hasImages: false }
  const parts = Array.isArray(content) ? content.filter(isRecord) : []
  const texts = parts.map(({ text }) => (typeof text === 'string' ? text : ''))
  return { chat, prompt: texts.join('\n').trim(), hasImages: parts.some(({ type }) => type === 'image_url') }
}

/** The prompt as the words that stand for the image: short, on one line, and no Markdown. */
function altOf(prompt: string): string {
  const line = [...prompt.replaceAll(/[\p{Cc}\p{Cf}\s]+/gu, ' ').trim()].slice(0, longestAlt).join('')
  return line.replaceAll(/[\\[\]()<>!`*_]/g, String.raw`\$&`) || 'image'
}
