/** Converts an upstream's answer to the list that the client receives: one vector for each input, in the encoding that the client requested. */
import { isRecord } from '../../exchange/request/chat-request.ts'

export interface EmbeddingOptions {
  /** Number of inputs. */
  readonly count: number
  readonly encoding: 'float' | 'base64'
}

export type ConvertedEmbeddings =
  /** `data`: the answer up to its list, as JSON text without the end of the object. */
  | { readonly kind: 'converted'; readonly text: string; readonly usage: Readonly<Record<string, unknown>> | null }
  | { readonly kind: 'failed'; readonly reason: 'empty' }

const bytesPerNumber = 4

export function convertEmbeddings(
  { data, usage }: Readonly<Record<string, unknown>>,
  { count, encoding }: EmbeddingOptions,
): ConvertedEmbeddings {
  const vectors: string[] = []
  for (const [place, item] of (Array.isArray(data) ? data : []).entries()) {
    if (!isRecord(item)) continue
    const vector = encodeVector(item['embedding'], encoding)
    const index = typeof item['index'] === 'number' ? item['index'] : place
    if (vector !== null && Number.isInteger(index) && index >= 0 && index < count) vectors[index] = vector
  }
  // Holes of a sparse array are skipped by `filter`.
  if (vectors.filter(() => true).length !== count) return { kind: 'failed', reason: 'empty' }
  const items = vectors.map((vector, index) => `{"object":"embedding","index":${index},"embedding":${vector}}`)
  return {
    kind: 'converted',
    text: `{"object":"list","data":[${items.join(',')}]`,
    usage: isRecord(usage) ? usage : null,
  }
}

/** The vector as JSON in this encoding; null if it is none. What has the encoding already is checked and passed through. */
export function encodeVector(value: unknown, encoding: EmbeddingOptions['encoding']): string | null {
  if (typeof value === 'string') {
    const vector = fromBase64(value)
    if (vector === null) return null
    return JSON.stringify(encoding === 'base64' ? value : [...vector])
  }
  if (!isVector(value)) return null
  return JSON.stringify(encoding === 'base64' ? toBase64(value) : value)
}

/** Numbers beyond those of JavaScript are refused: they would become `null`. */
export function isVector(value: unknown): value is readonly number[] {
  return Array.isArray(value) && value.length > 0 && value.every(Number.isFinite)
}

/** 32-bit floats in little-endian order, as OpenAI sends them. */
function toBase64(vector: readonly number[]): string {
  const bytes = Buffer.alloc(vector.length * bytesPerNumber)
  for (const [index, value] of vector.entries()) bytes.writeFloatLE(value, index * bytesPerNumber)
  return bytes.toString('base64')
}

function fromBase64(text: string): Float32Array | null {
  const bytes = Buffer.from(text, 'base64')
  if (bytes.length === 0 || bytes.length % bytesPerNumber !== 0) return null
  const vector = Float32Array.from({ length: bytes.length / bytesPerNumber }, (_, index) =>
    bytes.readFloatLE(index * bytesPerNumber),
  )
  return vector.every(Number.isFinite) ? vector : null
}
