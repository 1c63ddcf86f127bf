/** Answers of a model as chunks of a chat completion, cut at random places that a seed determines. */
import type { JsonObject } from '../../../src/exchange/api-format/api-format.ts'

export interface Answer {
  readonly reasoning: string
  readonly text: string
  readonly calls: readonly { readonly name: string; readonly arguments: string }[]
}

export const toChunk = (delta: JsonObject, finish: string | null = null): JsonObject => ({
  choices: [{ index: 0, delta, finish_reason: finish }],
})

/** Cuts a text at random places. */
function cut(text: string, random: () => number): string[] {
  const pieces: string[] = []
  for (let at = 0; at < text.length;) {
    const end = at + 1 + Math.floor(random() * 6)
    pieces.push(text.slice(at, end))
    at = end
  }
  return pieces
}

/** Chunks of this answer. The pieces of calls are interleaved, and empty pieces stand between them. */
export function toChunks({ reasoning, text, calls }: Answer, random: () => number): JsonObject[] {
  const queues = calls.map(({ name, arguments: args }, index) => [
    toChunk({ tool_calls: [{ index, id: `call_${index}`, function: { name, arguments: '' } }] }),
    ...cut(args, random).map((piece) => toChunk({ tool_calls: [{ index, function: { arguments: piece } }] })),
  ])
  const chunks: JsonObject[] = [
    toChunk({ role: 'assistant', content: '' }),
    ...cut(reasoning, random).map((piece) => toChunk({ reasoning_content: piece })),
    ...cut(text, random).map((content) => toChunk({ content, tool_calls: [] })),
  ]
  // The first piece of each call comes in order.
  let begun = 0
  while (queues.some((queue) => queue.length > 0)) {
    const open = queues.slice(0, begun + 1).filter((queue) => queue.length > 0)
    const queue = open[Math.floor(random() * open.length)] ?? []
    if (queue === queues[begun]) begun++
    const chunk = queue.shift()
    if (chunk !== undefined) chunks.push(chunk)
    if (open.length === 0) begun++
    if (random() < 0.2) chunks.push(toChunk({ content: '' }), toChunk({}))
  }
  return chunks
}

/** A sequence of numbers from 0 to 1 that a seed determines. */
export function createRandom(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}
