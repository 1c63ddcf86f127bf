/**
 * Neighbours in a stream mostly differ in their words alone. Once one has been parsed and judged, the next that is the same text around
 * another JSON string needs neither: what it would parse to is known but for that string, and it is as well-formed as the first.
 */
import { isRecord } from '../exchange/chat-request.ts'
import { reportIn } from './usage.ts'

/** Under which a delta says its words. */
const wordKeys = ['content', 'reasoning_content', 'reasoning'] as const
export type WordKey = (typeof wordKeys)[number]

/** A longer event is one of few, and looking for its words' end would cost more than it could save. */
const longestLearnt = 16_384

/**
 * Stands for the words where it is learnt what is around them. Nobody writes it: its characters are for private use. They are of Latin-1,
 * because V8 takes two bytes for each character of a text that holds any other, and for all that is made of it.
 */
const mark = '\u0091\u0092\u0091'

/** The text up to the words, with their first quote, and from their last one on. */
export interface Around {
  readonly before: string
  readonly after: string
}

export interface Likeness extends Around {
  /** The choice that says them, and under which name. */
  readonly index: number
  readonly key: WordKey
  /** The chunk, and its text, with `mark` for words. */
  readonly marked: { readonly chunk: Record<string, unknown>; readonly text: string; readonly mark: string }
}

/** What others must be to be like this chunk; null where the words are not all that may differ. */
export function likenessOf(chunk: Record<string, unknown>, text: string): Likeness | null {
  if (text.length > longestLearnt) return null
  const said = saidBy(chunk)
  if (said === null) return null
  const name = `"${said.key}":`
  const at = text.indexOf(name)
  if (at === -1 || text.includes(name, at + name.length)) return null
  const from = text.indexOf('"', at + name.length) + 1
  const to = endOfString(text, from)
  const [before, after] = [text.slice(0, from), text.slice(to)]
  const marked = before + mark + after
  const probe = parsed(marked)
  const proof = probe === null ? null : saidBy(probe)
  // That the mark comes out where the words were proves that it stands in their place, whatever else the text holds.
  if (probe === null || proof?.words !== mark || proof.key !== said.key) return null
  return { index: said.index, key: said.key, before, after, marked: { chunk: probe, text: marked, mark } }
}

/** The words' own text, between its quotes, of a chunk that is like the one that was learnt from; null of any other. */
export function wordsIn(text: string, { before, after }: Around): string | null {
  const [from, to] = [before.length, text.length - after.length]
  // V8 compares equals by words of memory, and `startsWith` by letters: a sixth of the time.
  return from <= to && text.slice(0, from) === before && text.slice(to) === after ? text.slice(from, to) : null
}

/** What a JSON string says, of its text between the quotes; null where that is none. */
export function stringOf(written: string): string | null {
  if (plain.test(written)) return written
  try {
    return JSON.parse(`"${written}"`) as string
  } catch {
    return null
  }
}

// oxlint-disable-next-line no-control-regex -- JSON forbids them in strings
const plain = /^[^"\\\u0000-\u001F]*$/

/** The words of a chunk that says nothing else: one choice, not at its end, no report, nothing beside the words that would add up. */
function saidBy(
  chunk: Record<string, unknown>,
): { readonly index: number; readonly key: WordKey; readonly words: string } | null {
  const { choices } = chunk
  if (!Array.isArray(choices) || choices.length !== 1 || reportIn(chunk) !== null) return null
  const [choice] = choices as unknown[]
  if (!isRecord(choice) || !isRecord(choice['delta'])) return null
  const { delta, index = 0, finish_reason: finish, logprobs = null, message } = choice
  if (typeof index !== 'number' || (finish !== null && finish !== undefined && finish !== '')) return null
  if (logprobs !== null || message !== undefined) return null
  let found: WordKey | null = null
  for (const name in delta) {
    const value = delta[name]
    if (value === null || value === '' || name === 'role') continue
    const key = wordKeys.find((each) => each === name)
    if (key === undefined || typeof value !== 'string' || found !== null) return null
    found = key
  }
  return found === null ? null : { index, key: found, words: delta[found] as string }
}

/** Where the string that begins here has its closing quote. */
function endOfString(text: string, from: number): number {
  let at = from
  while (at < text.length && text[at] !== '"') at += text[at] === '\\' ? 2 : 1
  return at
}

function parsed(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text)
    return isRecord(value) ? value : null
  } catch {
    return null
  }
}
