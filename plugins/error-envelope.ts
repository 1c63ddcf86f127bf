/** Converts an upstream's failure to an error code of the catalog. The raw status stays in `debug`. */
import { classifyFailure, definePlugin, UpstreamFailure } from '../src/index.ts'

export const errorEnvelope = definePlugin({
  name: 'error-envelope',
  on: 'turn',
  onFailure(x, failure, { config, clock }) {
    if (!(failure instanceof UpstreamFailure)) return
    const { facts, upstreamHost, retryAfterSeconds, isTargetResting, redact } = failure
    if (config.exposeUpstreamHost && upstreamHost !== null) x.debug.upstreamHost = upstreamHost
    return classifyFailure(facts, {
      now: clock.now(),
      retryAfterSeconds,
      isTargetResting,
      redact: [...redact, ...getTargetWords(x.lastAttempt.target, upstreamHost)],
      cause: failure,
    })
  },
})

/** Words that the upstream's message may contain and members must not see: the model behind the product, and its host. */
function getTargetWords(target: string | null, host: string | null): string[] {
  const model = target?.slice(target.indexOf('/') + 1)
  return [model, host].filter((word) => typeof word === 'string')
}
