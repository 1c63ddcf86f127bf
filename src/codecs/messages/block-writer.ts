/** Writes events of the Messages API, and content blocks: as such events, or into the content of a whole message. */
import { parseInput } from '../shared/parse-input.ts'

/** A server-sent event. The SDK skips one without its `event:` line. */
export function toEvent(type: string, fields: object = {}): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`
}

type Block = Record<string, unknown>

export interface BlockWriter {
  open(index: number, block: Block): string
  delta(index: number, delta: Readonly<Block>): string
  close(index: number): string
}

export const streamedBlocks: BlockWriter = {
  open: (index, block) => toEvent('content_block_start', { index, content_block: block }),
  delta: (index, delta) => toEvent('content_block_delta', { index, delta }),
  close: (index) => toEvent('content_block_stop', { index }),
}

export class WholeContent implements BlockWriter {
  readonly blocks: Block[] = []
  #json = ''

  open(_index: number, block: Block): '' {
    this.blocks.push({ ...block })
    this.#json = ''
    return ''
  }

  delta(index: number, delta: Readonly<Block>): '' {
    const block = this.blocks[index] ?? {}
    for (const [name, value] of Object.entries(delta)) {
      if (name === 'partial_json') this.#json += String(value)
      else if (name === 'citation') ((block['citations'] ??= []) as unknown[]).push(value)
      else if (name !== 'type') block[name] = `${String(block[name])}${String(value)}`
    }
    return ''
  }

  close(index: number): '' {
    if (this.#json !== '') Object.assign(this.blocks[index] ?? {}, { input: parseInput(this.#json) })
    return ''
  }
}
