/** The targets of a turn, asked something of ours instead of the member's own request. */
import type { Candidate, Exchange, Slots } from '../exchange/exchange.ts'
import type { Upstreams } from './upstreams.ts'

/** A new body for each target. Its model's name and the cap that the hold pays for are filled in. */
export function askInstead(
  { route, hold }: Exchange & Partial<Slots>,
  upstreams: Upstreams,
  path: '/chat/completions' | '/images/generations',
  body: Readonly<Record<string, unknown>>,
): Candidate[] {
  return (route?.candidates ?? []).map((candidate) => {
    const capField = upstreams.get(candidate.upstream)?.config.maxTokensField ?? 'max_tokens'
    const cap = path === '/chat/completions' && hold !== undefined ? { [capField]: hold.outputCap } : {}
    return { ...candidate, path, body: () => JSON.stringify({ ...body, model: candidate.model, ...cap }) }
  })
}
