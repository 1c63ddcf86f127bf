/** Thread that converts long answers of embedding upstreams, one at a time. */
import { parentPort } from 'node:worker_threads'
import { convertEmbeddingText } from './convert-embeddings.ts'
import type { ConvertedEmbeddings, EmbeddingOptions } from './convert-embeddings.ts'

export interface ConvertRequest extends EmbeddingOptions {
  readonly bytes: Uint8Array
}

/** The text as bytes, which are transferred; behind them there is room for the end of the answer. */
export type ConvertReply =
  | Extract<ConvertedEmbeddings, { kind: 'failed' }>
  | {
      readonly kind: 'converted'
      readonly bytes: Uint8Array<ArrayBuffer>
      readonly length: number
      readonly usage: Readonly<Record<string, unknown>> | null
    }

/** More than the end of any answer: the model's id and two numbers. */
const endBytes = 1_024

if (parentPort === null) throw new Error('this file is started as a thread')
const port = parentPort
port.on('message', ({ bytes, ...options }: ConvertRequest) => {
  const reply = toReply(convertEmbeddingText(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString(), options))
  port.postMessage(reply, reply.kind === 'converted' ? [reply.bytes.buffer] : [])
})

function toReply(converted: ConvertedEmbeddings): ConvertReply {
  if (converted.kind === 'failed') return converted
  const { text, usage } = converted
  // Base64, numbers and names: one byte for each character.
  const bytes = new Uint8Array(text.length + endBytes)
  Buffer.from(bytes.buffer).write(text, 'latin1')
  return { kind: 'converted', bytes, length: text.length, usage }
}
