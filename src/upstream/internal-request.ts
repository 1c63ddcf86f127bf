/** Candidates for a request of the gateway's own instead of the member's. */
import type { UpstreamRequestMode, Candidate, Exchange, Slots } from '../exchange/exchange.ts'
import { isCapAdjustable } from '../exchange/request/chat-request.ts'
import type { Upstreams } from './target/upstreams.ts'

/** A body per target, with the target's model name and the cap that the hold covers. */
export function createInternalCandidates(
  { route, hold, chat }: Exchange & Partial<Slots>,
  upstreams: Upstreams,
  path: '/chat/completions' | '/images/generations' | '/embeddings',
  body: Readonly<Record<string, unknown>>,
): Candidate[] {
  return (route?.candidates ?? []).map((candidate) => {
    const upstream = upstreams.get(candidate.upstream)
    const buildBody = ({ stream, includeUsage, outputCap }: UpstreamRequestMode): Readonly<Record<string, unknown>> => {
      if (upstream === undefined) return { ...body, model: candidate.model }
      const dialect = upstreams.getDialect(candidate.name, upstream)
      if (path !== '/chat/completions' || hold === undefined)
        return { ...omitFields(body, dialect.droppedFields), model: candidate.model }
      const effectiveCap =
        outputCap ?? dialect.computeOutputCap(hold.outputCap, chat === undefined || isCapAdjustable(chat), hold.inputEstimate)
      const streamFields = stream ? { stream, stream_options: includeUsage ? { include_usage: true } : undefined } : {}
      return { ...body, model: candidate.model, [dialect.capField]: effectiveCap, ...streamFields }
    }
    return { ...candidate, path, body: buildBody }
  })
}

function omitFields(body: Readonly<Record<string, unknown>>, omitted: ReadonlySet<string>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(body).filter(([name]) => !omitted.has(name)))
}
