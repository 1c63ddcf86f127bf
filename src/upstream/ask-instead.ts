/** The targets of a turn, asked something of ours instead of the member's own request. */
import type { Asking, Candidate, Exchange, Slots } from '../exchange/exchange.ts'
import type { LargeBody } from '../exchange/large/printed.ts'
import { printFor } from '../exchange/large/printed.ts'
import type { Upstreams } from './upstreams.ts'

/** A new body for each target. Its model's name and the cap that the hold pays for are filled in. */
export function askInstead(
  { route, hold, chat }: Exchange & Partial<Slots>,
  upstreams: Upstreams,
  path: '/chat/completions' | '/images/generations',
  body: Readonly<Record<string, unknown>>,
): Candidate[] {
  return (route?.candidates ?? []).map((candidate) => {
    const upstream = upstreams.get(candidate.upstream)
    const bodyFor = ({ stream, usage, cap }: Asking): string | LargeBody => {
      if (path !== '/chat/completions' || hold === undefined || upstream === undefined)
        return printFor(chat, { ...body, model: candidate.model })
      const dialect = upstreams.dialect(candidate.name, upstream)
      const fitting = cap ?? dialect.capFor(hold.outputCap, (chat?.maxTokens ?? null) === null, hold.inputEstimate)
      const streamed = stream ? { stream, stream_options: usage ? { include_usage: true } : undefined } : {}
      return printFor(chat, { ...body, model: candidate.model, [dialect.capField]: fitting, ...streamed })
    }
    return { ...candidate, path, body: bodyFor }
  })
}
