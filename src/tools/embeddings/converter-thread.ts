/** Thread that converts long answers of embedding upstreams, one at a time. */
import { parentPort } from 'node:worker_threads'
import { joinTransferredChunks } from '../../system/memory/transferred-chunks.ts'
import type { EmbeddingOptions } from './convert-embeddings.ts'
import { convertLongAnswer } from './long-embedding-answer.ts'
import type { ConvertedAnswer } from './long-embedding-answer.ts'

export interface ConvertRequest extends EmbeddingOptions {
  readonly chunks: readonly Uint8Array<ArrayBuffer>[]
}

/** The bytes are transferred. */
export type ConvertReply = ConvertedAnswer

if (parentPort === null) throw new Error('this file is started as a thread')
const port = parentPort
port.on('message', ({ chunks, ...options }: ConvertRequest) => {
  const reply = convertLongAnswer(joinTransferredChunks(chunks), options)
  port.postMessage(reply, reply.kind === 'converted' ? [reply.bytes.buffer] : [])
})
