/** What the upstream did → what the caller is told: one of the catalogue's codes, the status remapped, the raw one kept in `debug`. */
import { classify, definePlugin, UpstreamFailure } from '../src/index.ts'

export const errorEnvelope = definePlugin({
  name: 'error-envelope',
  on: 'turn',
  onFailure(x, failure, { config }) {
    const { cause } = failure
    if (!(cause instanceof UpstreamFailure)) return
    if (config.exposeUpstreamHost && cause.upstreamHost !== null) x.debug.upstreamHost = cause.upstreamHost
    return classify(cause.facts)
  },
})
