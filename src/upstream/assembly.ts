/**
 * The whole answer out of a stream's chunks, as the upstream would have sent it: for members who want it whole, while it is metered, and
 * can be given up, as it is made.
 *
 * Id and date are the first chunk's that has them; of other fields around the words the last value stands. Deltas are joined as
 * OpenAI's own clients do: strings end to end, lists one after the other (items that have an `index`: by it), objects field by field,
 * anything else replaced by the later one. A null never takes the place of a value.
 */
import { isRecord } from '../exchange/chat-request.ts'
import type { Likeness, WordKey } from './likeness.ts'
import type { ChunkTaker } from './stream-reader.ts'

type Fields = Record<string, unknown>

interface Choice {
  readonly index: number
  /** Beside the words. */
  readonly around: Fields
  said: Fields
  logprobs: unknown
}

export class Assembly implements ChunkTaker {
  #around: Fields = {}
  readonly #choices = new Map<number, Choice>()
  /** Where the words of the next chunk belong, if it is like the last. */
  #saying: { readonly said: Fields; readonly key: WordKey } | null = null

  /** A chunk with a list of choices. */
  take(chunk: Fields): '' {
    const { choices, ...around } = chunk
    for (const [name, value] of Object.entries(around)) {
      if (value === null || notOfTheWhole.has(name)) continue
      const isFirst = firstStands.has(name)
      // Azure opens with the filter's verdict on the prompt, whose id, date and model are empty.
      if (!isFirst || !this.#around[name]) this.#around[name] = value
    }
    for (const choice of choices as unknown[]) if (isRecord(choice)) this.#add(choice)
    return ''
  }

  expect({ index, key }: Likeness): boolean {
    const said = this.#choices.get(index)?.said
    if (typeof said?.[key] !== 'string') return false
    this.#saying = { said, key }
    return true
  }

  more(words: string): '' {
    if (this.#saying === null) return ''
    const { said, key } = this.#saying
    said[key] = `${String(said[key])}${words}`
    return ''
  }

  /** As `chat.completion`, with its choices in their order; what it cost is not in it. */
  document(): Fields {
    const choices = [...this.#choices.values()]
      .toSorted((a, b) => a.index - b.index)
      .map(({ index, around, said, logprobs }) => ({
        index,
        message: messageOf(said),
        logprobs: logprobs ?? null,
        ...around,
      }))
    return { ...this.#around, object: 'chat.completion', choices }
  }

  #add(chunk: Fields): void {
    const { index: at, delta, message, logprobs, ...around } = chunk
    const index = typeof at === 'number' ? at : 0
    let choice = this.#choices.get(index)
    if (choice === undefined) {
      choice = { index, around: {}, said: {}, logprobs: null }
      this.#choices.set(index, choice)
    }
    if (isRecord(delta)) addDelta(choice.said, delta)
    // Some repeat the whole message so far beside the delta; where there is no delta, that is all there is.
    else if (isRecord(message)) choice.said = { ...message }
    choice.logprobs = joined(choice.logprobs, logprobs)
    for (const [name, value] of Object.entries(around)) {
      if (value !== null && value !== '' && !notOfTheWhole.has(name)) choice.around[name] = value
    }
  }
}

const firstStands = new Set(['id', 'created', 'model'])
/** Padding against listeners; reports, which are metered; and how an event was called. */
const notOfTheWhole = new Set(['obfuscation', 'usage', 'object', '__proto__'])

function messageOf(said: Fields): Fields {
  const { role, content, refusal, tool_calls: calls, ...rest } = said
  return {
    role: role ?? 'assistant',
    content: content ?? null,
    refusal: refusal ?? null,
    ...rest,
    // Only in a stream do calls need numbers to tell them apart.
    ...(Array.isArray(calls) ? { tool_calls: calls.map(withoutIndex) } : {}),
  }
}

function withoutIndex(call: unknown): unknown {
  if (!isRecord(call)) return call
  const { index: _, ...rest } = call
  return rest
}

function addDelta(said: Fields, delta: Fields): void {
  for (const [name, value] of Object.entries(delta)) {
    if (value === null || name === '__proto__') continue
    if (name === 'tool_calls' && Array.isArray(value)) said[name] = withCalls(said[name], value)
    else said[name] = saidOnce.has(name) ? said[name] || value : joined(said[name], value)
  }
}

/** Names of things and not their words: repeated by some vendors in every chunk. */
const saidOnce = new Set(['role', 'type', 'id', 'index', 'name', 'format'])

function joined(before: unknown, more: unknown): unknown {
  if (more === null || more === undefined) return before
  if (before === null || before === undefined) return more
  if (typeof before === 'string' && typeof more === 'string') return before + more
  if (Array.isArray(more)) {
    const parts: unknown[] =
      typeof before === 'string' ? (before === '' ? [] : [{ type: 'text', text: before }]) : [before].flat()
    return withItems(parts, more)
  }
  if (!isRecord(before) || !isRecord(more)) return more
  const both: Fields = { ...before }
  for (const [name, value] of Object.entries(more)) {
    if (name !== '__proto__') both[name] = saidOnce.has(name) ? both[name] || value : joined(both[name], value)
  }
  return both
}

function withItems(before: readonly unknown[], more: readonly unknown[]): unknown[] {
  const all = [...before]
  for (const item of more) {
    const at = isRecord(item) && typeof item['index'] === 'number' ? all.findIndex((other) => continues(other, item)) : -1
    if (at === -1) all.push(item)
    else all[at] = joined(all[at], item)
  }
  return all
}

function continues(part: unknown, item: Fields): boolean {
  return isRecord(part) && part['index'] === item['index'] && (item['type'] === undefined || part['type'] === item['type'])
}

/**
 * Tool calls grow by their index. Some vendors send none, or the same for all, and then whole calls at once: an id that is not the one
 * at this place begins another call, and so does a name where the call before has its arguments complete.
 */
function withCalls(before: unknown, more: readonly unknown[]): unknown[] {
  const calls: unknown[] = Array.isArray(before) ? [...(before as unknown[])] : []
  for (const piece of more) {
    if (!isRecord(piece)) continue
    const at = calls.findLastIndex((call) => isRecord(call) && isSameCall(call, piece, call === calls.at(-1)))
    if (at === -1) calls.push(piece)
    else calls[at] = joined(calls[at], piece)
  }
  return calls
}

function isSameCall(call: Fields, piece: Fields, isLast: boolean): boolean {
  if (typeof piece['index'] === 'number' ? piece['index'] !== call['index'] : !isLast && !piece['id']) return false
  if (piece['id'] && call['id']) return piece['id'] === call['id']
  const name = nameOf(piece)
  return !name || ((!nameOf(call) || name === nameOf(call)) && !isComplete(call))
}

function nameOf({ function: called }: Fields): unknown {
  return isRecord(called) ? called['name'] : undefined
}

function isComplete({ function: called }: Fields): boolean {
  const text = isRecord(called) ? called['arguments'] : undefined
  if (typeof text !== 'string' || text === '') return false
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
