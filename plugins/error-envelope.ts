/** What the upstream did → what the caller is told: one of the catalogue's codes, the status remapped, the raw one kept in `debug`. */
import { classify, definePlugin, UpstreamFailure } from '../src/index.ts'

export const errorEnvelope = definePlugin({
  name: 'error-envelope',
  on: 'turn',
  onFailure(x, failure, { config, clock }) {
    if (!(failure instanceof UpstreamFailure)) return
    const { facts, upstreamHost } = failure
    if (config.exposeUpstreamHost && upstreamHost !== null) x.debug.upstreamHost = upstreamHost
    return classify(facts, { now: clock.now(), hide: hiddenWords(x.attempted.target, upstreamHost), cause: failure })
  },
})

/** What an upstream's own sentence about a request may mention and no member needs to know: the model behind the product, and its host. */
function hiddenWords(target: string | null, host: string | null): string[] {
  const model = target?.slice(target.indexOf('/') + 1)
  return [model, host].filter((word) => typeof word === 'string')
}
