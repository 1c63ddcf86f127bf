/** What the upstream did → what the caller is told: one of the catalogue's codes, the status remapped, the raw one kept in `debug`. */
import { classify, definePlugin, UpstreamFailure } from '../src/index.ts'

export const errorEnvelope = definePlugin({
  name: 'error-envelope',
  on: 'turn',
  onFailure(x, failure, { config, clock }) {
    const { cause } = failure
    if (!(cause instanceof UpstreamFailure)) return
    if (config.exposeUpstreamHost && cause.upstreamHost !== null) x.debug.upstreamHost = cause.upstreamHost
    // A validation that is passed on may name the model behind the product; a target's name is `upstream/model`.
    const model = x.attempted.target?.replace(/^[^/]*\//, '') ?? ''
    return classify(cause.facts, { now: clock.now(), hide: [model, cause.upstreamHost ?? ''] })
  },
})
