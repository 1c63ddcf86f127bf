/** What an upstream says it used, and our own count where it says nothing. */
import { isRecord } from '../exchange/chat-request.ts'
import type { Usage } from '../exchange/exchange.ts'

/** No turn is larger; a number above it is the upstream's mistake and must not become a member's debt. */
const maxTokens = 10_000_000

/**
 * The upstream's `usage` object as whole, sane numbers; null when it holds none. Reasoning tokens are inside `completion_tokens`
 * already. Image endpoints call the two `input_tokens` and `output_tokens`.
 */
export function usageOf(value: unknown): Pick<Usage, 'inputTokens' | 'outputTokens'> | null {
  if (!isRecord(value)) return null
  const inputTokens = tokenCount(value['prompt_tokens'] ?? value['input_tokens'])
  const outputTokens = tokenCount(value['completion_tokens'] ?? value['output_tokens'])
  if (inputTokens === null || outputTokens === null) return null
  return { inputTokens, outputTokens }
}

/** A count is a finite number of zero or more; a fraction is rounded up. Anything else counts as not reported. */
function tokenCount(value: unknown): number | null {
  if (typeof value !== 'number' || !Number.isFinite(value) || value < 0 || value > maxTokens) return null
  return Math.ceil(value)
}

/** DeepSeek counts cache hits under a name of its own; clients look for OpenAI's. */
export function withCachedTokens(usage: Record<string, unknown>): Record<string, unknown> {
  const hits = usage['prompt_cache_hit_tokens']
  if (typeof hits !== 'number' || isRecord(usage['prompt_tokens_details'])) return usage
  return { ...usage, prompt_tokens_details: { cached_tokens: hits } }
}

/** Keys whose string values are output a member pays for, as they stand in a chunk's JSON. */
const producing = ['"content"', '"reasoning_content"', '"reasoning"', '"arguments"', '"refusal"'] as const

/**
 * Counts output as it passes, without keeping it. Most upstreams send a token an event, and then the events are the count; where
 * events carry more, four bytes are taken for a token.
 */
export class OutputCounter {
  #events = 0
  #bytes = 0

  /** One chunk's JSON, as Latin-1. */
  add(json: string): void {
    let bytes = 0
    for (const key of producing) {
      for (let at = json.indexOf(key); at !== -1; at = json.indexOf(key, at)) {
        const from = startOfString(json, at + key.length)
        at = from === -1 ? at + key.length : endOfString(json, from)
        if (from !== -1) bytes += at - from
      }
    }
    if (bytes === 0) return
    this.#events++
    this.#bytes += bytes
  }

  get tokens(): number {
    return this.#bytes <= 8 * this.#events ? this.#events : tokensOfBytes(this.#bytes)
  }
}

export function tokensOfBytes(bytes: number): number {
  return Math.ceil(bytes / 4)
}

/** Where the text of a key's value begins; -1 where it is no string. Some upstreams write a space after the colon. */
function startOfString(json: string, afterKey: number): number {
  let colon = false
  for (let at = afterKey; ; at++) {
    const code = json.charCodeAt(at)
    if (code === 0x22 && colon) return at + 1
    if (code === 0x3a && !colon) colon = true
    else if (code !== 0x20) return -1
  }
}

function endOfString(json: string, from: number): number {
  let at = json.indexOf('"', from)
  while (at !== -1) {
    let slashes = 0
    while (json.charCodeAt(at - 1 - slashes) === 0x5c) slashes++
    if (slashes % 2 === 0) return at
    at = json.indexOf('"', at + 1)
  }
  return json.length
}
