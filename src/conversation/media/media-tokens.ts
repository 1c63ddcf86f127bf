/** Computes the tokens of media by kind: what they probably cost, and the most that they may cost. */
import type { ProductMedia } from '../../domain/billing/catalog/product.ts'
import type { MediaItem } from './media-item.ts'

/** Tokens of one picture, page or second, as configured for a product. Each maximum is at least the figure beside it. */
export interface MediaFigures extends Omit<ProductMedia, 'imageTokens'> {
  readonly imageTokens: number
}

export interface MediaTokens {
  readonly likely: number
  /** At least `likely`. */
  readonly max: number
}

/** Vision models divide a picture into patches; the smallest in use are 20 pixels wide. */
const pixelsPerToken = 400
/** A scanned page in a PDF; pages of text are smaller. */
const bytesPerScannedPage = 200_000
const bytesPerOfficePage = 20_000
/** A document has at most this many tokens for its bytes, unless its pages say more: compressed text has some 20 bytes a token. */
const minBytesPerDocumentToken = 100
const bytesPerTextToken = 4
/** Bytes of a second of sound or video: usual, of the lowest quality in use, and of the highest, which a header cannot deny. */
const bytesPerSecond = {
  audio: { usual: 16_000, least: 2_000, most: 200_000 },
  video: { usual: 125_000, least: 20_000, most: 2_500_000 },
} as const
/** What is assumed of a file that only the upstream can fetch. */
const atAddress = { pages: 5, maxPages: 20, seconds: 60 } as const

export function computeMediaTokens(items: readonly MediaItem[], figures: MediaFigures): MediaTokens {
  let likely = 0
  let max = 0
  for (const item of items) {
    const tokens = computeItemTokens(item, figures)
    likely += tokens.likely
    max += Math.max(tokens.max, tokens.likely)
  }
  return { likely: Math.ceil(likely), max: Math.ceil(max) }
}

function computeItemTokens(item: MediaItem, figures: MediaFigures): MediaTokens {
  const { kind, bytes, units } = item
  switch (kind) {
    case 'image': {
      const max = units === null ? figures.maxImageTokens : Math.min(units / pixelsPerToken, figures.maxImageTokens)
      return { likely: figures.imageTokens, max }
    }
    case 'document':
    case 'office': {
      const { pageTokens, maxPageTokens } = figures
      if (bytes === null) return { likely: atAddress.pages * pageTokens, max: atAddress.maxPages * maxPageTokens }
      const pages = units ?? Math.max(1, Math.round(bytes / (kind === 'office' ? bytesPerOfficePage : bytesPerScannedPage)))
      return { likely: pages * pageTokens, max: Math.max(pages * maxPageTokens, bytes / minBytesPerDocumentToken) }
    }
    case 'text': {
      if (bytes === null) return { likely: atAddress.pages * figures.pageTokens, max: atAddress.maxPages * figures.maxPageTokens }
      // A tokenizer never makes more tokens than bytes.
      return { likely: bytes / bytesPerTextToken, max: bytes }
    }
    case 'audio':
      return computeRecordingTokens(item, bytesPerSecond.audio, figures.audioSecondTokens, figures.maxAudioSecondTokens)
    case 'video':
      return computeRecordingTokens(item, bytesPerSecond.video, figures.videoSecondTokens, figures.maxVideoSecondTokens)
  }
}

function computeRecordingTokens(
  { bytes, units }: MediaItem,
  size: { readonly usual: number; readonly least: number; readonly most: number },
  secondTokens: number,
  maxSecondTokens: number,
): MediaTokens {
  if (bytes === null) return { likely: atAddress.seconds * secondTokens, max: atAddress.seconds * maxSecondTokens }
  const seconds = units ?? bytes / size.usual
  const maxSeconds = units === null ? bytes / size.least : Math.max(units, bytes / size.most)
  return { likely: Math.max(1, seconds) * secondTokens, max: Math.max(1, maxSeconds) * maxSecondTokens }
}
