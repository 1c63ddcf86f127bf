/** The image product: an upstream generates images, which are stored here, and the chat answers with links to them. */
import { invalidRequest } from '../../errors.ts'
import { encodeChatMessages } from '../../codecs/encode-for-target.ts'
import { createCompletionResult } from '../../exchange/completion-result.ts'
import { getFields, isRecord, getLastUserMessage, maxLastUserLength } from '../../exchange/request/chat-request.ts'
import type { ChatRequest } from '../../exchange/request/chat-request.ts'
import { pickImageFields } from '../../exchange/request/field-policy.ts'
import { privateJsonHeaders } from '../../exchange/response-headers.ts'
import type { CallResult, Exchange, Slots, Usage } from '../../exchange/exchange.ts'
import { ClientDisconnected } from '../../exchange/exchange.ts'
import type { CallContext } from '../../exchange/plugins/plugin-chain.ts'
import type { ImageRecord } from '../../domain/image.ts'
import type { Services } from '../../services/services.ts'
import { createInternalCandidates } from '../../upstream/internal-request.ts'
import { UpstreamFailure } from '../../exchange/upstream-failure.ts'
import type { Forwarder } from '../../upstream/forward.ts'
import { parseChatImages, parseGenerationsImages } from '../../upstream/response/images.ts'
import type { GeneratedImage } from '../../upstream/response/images.ts'
import type { UpstreamDocument } from '../../upstream/response/response-mode.ts'
import { inBandFailure } from '../../upstream/response/validate-completion.ts'
import { isPlausible, parseUsage } from '../../upstream/response/usage.ts'
import { ImageLinks } from '../../images/image-links.ts'
import { RemoteImageFetcher } from './remote-images.ts'

const dayMs = 86_400_000
/** Maximum images of one answer; a model that names more lists links rather than generates. */
const maxImages = 8
const maxAltChars = 80

export class ImageGenerator {
  readonly #services: Services
  readonly #forwarder: Forwarder
  readonly #links: ImageLinks
  readonly #remote: RemoteImageFetcher

  constructor(services: Services, forwarder: Forwarder) {
    this.#services = services
    this.#forwarder = forwarder
    this.#links = new ImageLinks(services.secret)
    this.#remote = new RemoteImageFetcher({ maxBytes: services.config.images.maxBytes })
  }

  /** Handles a chat with the image product. */
  async generateForChat(x: Exchange & Partial<Slots>, callContext: CallContext): Promise<CallResult> {
    const { text, stored, usage, prompt, stream } = await this.#generate(x, callContext)
    const alt = toAltText(prompt)
    const links = this.#createLinks(stored).map((link) => `![${alt}](${link})`)
    await callContext.onUpstreamHeaders({ status: 200, stream })
    return createCompletionResult(
      { content: [text, ...links].filter((line) => line !== '').join('\n') },
      { x, callContext, usage },
    )
  }

  /** Handles a request of the images API: returns links, or the bytes if requested. */
  async generateForImagesApi(x: Exchange & Partial<Slots>, wire: CallContext): Promise<CallResult> {
    const { stored, usage, upstreamHost } = await this.#generate(x, wire)
    // The images API has no field for text; text alone is no image and is not charged.
    if (stored.length === 0) throw inBandFailure('empty', upstreamHost)
    const asBytes = x.chat !== undefined && getFields(x.chat)['response_format'] === 'b64_json'
    const data = asBytes
      ? stored.map(({ bytes }) => ({ b64_json: bytes.toString('base64') }))
      : this.#createLinks(stored).map((url) => ({ url }))
    const { inputTokens, outputTokens } = usage
    const body = {
      created: Math.floor(x.startedAt / 1000),
      data,
      usage: { input_tokens: inputTokens, output_tokens: outputTokens, total_tokens: inputTokens + outputTokens },
    }
    await wire.onUpstreamHeaders({ status: 200, stream: false })
    return { usage, final: { kind: 'reply', reply: { status: 200, headers: privateJsonHeaders, body: JSON.stringify(body) } } }
  }

  /** @throws GatewayError `link_invalid`, or `link_expired` */
  verifyLink(name: string, query: { readonly exp: unknown; readonly sig: unknown }): void {
    this.#links.verify(name, query, this.#services.clock.now())
  }

  close(): Promise<void> {
    return this.#remote.close()
  }

  /** Generates images and stores them. @throws UpstreamFailure if the answer has neither image nor text */
  async #generate(x: Exchange & Partial<Slots>, wire: CallContext): Promise<GeneratedImages> {
    const { chat, caller } = x
    if (chat === undefined || caller === undefined)
      throw new UpstreamFailure({ kind: 'unconfigured', reason: 'no plugin fills chat and caller' }, null)
    const imagePrompt = extractPrompt(chat)
    const { document, upstreamHost } = await this.#requestImages(x, wire, imagePrompt)
    const { text, images } =
      this.#services.config.images.style === 'generations'
        ? parseGenerationsImages(document)
        : parseChatImages(document, upstreamHost)
    const usage = computeUsage(document, x, images.length)
    // The images were generated and are charged; no client is left to store them for.
    if (wire.client.disconnected) throw new ClientDisconnected(usage)
    const storedImages = await this.#storeImages(images.slice(0, maxImages), caller.account.id, wire)
    if (storedImages.length === 0 && wire.client.disconnected) throw new ClientDisconnected(usage)
    // Text alone is an answer too (a question, a refusal); images that cannot be shown are not.
    if (storedImages.length === 0 && (images.length > 0 || text === '')) throw inBandFailure('empty', upstreamHost)
    // Images that cannot be shown are not charged; if the client left, their number is unknown.
    const pieces = Math.max(1, Math.min(usage.pieces ?? 1, storedImages.length))
    const chargedUsage = wire.client.disconnected || usage.pieces === undefined ? usage : { ...usage, pieces }
    return { text, stored: storedImages, usage: chargedUsage, upstreamHost, prompt: imagePrompt.prompt, stream: chat.stream }
  }

  #createLinks(stored: readonly StoredImage[]): string[] {
    const { config, clock, origins } = this.#services
    const expires = clock.now() + config.images.linkDays * dayMs
    return stored.map(({ image }) => origins.base + this.#links.createLink(image, expires))
  }

  #requestImages(
    x: Exchange & Partial<Slots>,
    wire: CallContext,
    { prompt, chat, hasImages }: ImagePrompt,
  ): Promise<UpstreamDocument> {
    const { upstreams, config } = this.#services
    if (config.images.style === 'chat') {
      const body = { ...pickImageFields(chat), messages: encodeChatMessages(chat), modalities: ['image', 'text'] }
      return this.#forwarder.fetchDocument(x, createInternalCandidates(x, upstreams, '/chat/completions', body), wire)
    }
    if (prompt === '')
      throw invalidRequest(
        { en: "the last message of the role 'user' must say what to paint.", zh: "最后一条 'user' 消息必须说明要绘制的内容。" },
        'messages',
      )
    if (prompt.length > maxLastUserLength)
      throw invalidRequest(
        {
          en: `the last message must have at most ${maxLastUserLength} characters.`,
          zh: `最后一条消息最多 ${maxLastUserLength} 个字符。`,
        },
        'messages',
      )
    if (hasImages)
      throw invalidRequest(
        {
          en: 'this model paints from words alone; leave images out of the message.',
          zh: '该模型只能根据文字生成图片，请去掉消息中的图片。',
        },
        'messages',
      )
    const body = { prompt, n: chat.choices, ...pickImageFields(chat) }
    return this.#forwarder.fetchDocument(x, createInternalCandidates(x, upstreams, '/images/generations', body), wire)
  }

  async #storeImages(images: readonly GeneratedImage[], account: string, { client }: CallContext): Promise<StoredImage[]> {
    const disconnection = new AbortController()
    client.onDisconnect(() => disconnection.abort())
    const storedImages: StoredImage[] = []
    for (const generatedImage of images) {
      const bytes =
        generatedImage.kind === 'base64'
          ? this.#decodeBase64(generatedImage.data)
          : await this.#remote.fetch(generatedImage.url, disconnection.signal)
      if (bytes === null) continue
      const image = await this.#services.images.put(bytes, account)
      if (image !== null && !storedImages.some(({ image: { hash } }) => hash === image.hash)) storedImages.push({ image, bytes })
    }
    return storedImages
  }

  #decodeBase64(base64: string): Buffer | null {
    return base64.length / 4 > this.#services.config.images.maxBytes / 3 + 1 ? null : Buffer.from(base64, 'base64')
  }
}

interface StoredImage {
  readonly image: ImageRecord
  readonly bytes: Buffer
}

interface GeneratedImages {
  /** The text beside the images. */
  readonly text: string
  readonly stored: readonly StoredImage[]
  readonly usage: Usage
  readonly upstreamHost: string
  readonly prompt: string
  readonly stream: boolean
}

interface ImagePrompt {
  readonly chat: ChatRequest
  /** The text of the last user message. */
  readonly prompt: string
  readonly hasImages: boolean
}

function computeUsage(document: Record<string, unknown>, x: Partial<Slots>, images: number): Usage {
  const { hold, chat } = x
  // Each requested image that arrived has its fixed price, unless the upstream reports tokens.
  const pieces = Math.max(1, Math.min(images, chat?.choices ?? 1))
  const estimate: Usage = { inputTokens: hold?.inputEstimate ?? 0, outputTokens: 0, estimated: true, pieces }
  const reportedUsage = parseUsage(document['usage'])
  // Images take many tokens: a report of none is no report.
  if (reportedUsage === null || reportedUsage.outputTokens === 0) return estimate
  return isPlausible(reportedUsage, x) ? { ...reportedUsage, estimated: false } : { ...estimate, disputed: reportedUsage }
}

function extractPrompt(chat: ChatRequest): ImagePrompt {
  const last = getLastUserMessage(chat)
  const content = isRecord(last) ? last['content'] : undefined
  if (typeof content === 'string') return { chat, prompt: content.trim(), hasImages: false }
  const parts = Array.isArray(content) ? content.filter(isRecord) : []
  const texts = parts.map(({ text }) => (typeof text === 'string' ? text : ''))
  return { chat, prompt: texts.join('\n').trim(), hasImages: parts.some(({ type }) => type === 'image_url') }
}

/** The prompt as the image's alternative text: short, on one line, without Markdown. */
function toAltText(prompt: string): string {
  const line = [...prompt.replaceAll(/[\p{Cc}\p{Cf}\s]+/gu, ' ').trim()].slice(0, maxAltChars).join('')
  return line.replaceAll(/[\\[\]()<>!`*_]/g, String.raw`\$&`) || 'image'
}
