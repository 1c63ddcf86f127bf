/** What a failed call to a target means for the others, and for the trust in it. */
import type { UpstreamFacts } from '../exchange/upstream-failure.ts'
import { classify, isFull } from './failure.ts'
import { wrongAddress } from './wording.ts'

/**
 * True where nothing of the request can have been acted on, so that another target may be tried: the connection was never
 * made, or the whole of it was turned away with 429 or 503.
 */
export function isRefusedWhole(facts: UpstreamFacts): boolean {
  return wasNeverSent(facts) || (facts.kind === 'status' && [429, 503].includes(facts.status))
}

/** True where not a byte of the request has left: trying another target costs no upstream anything. */
export function wasNeverSent(facts: UpstreamFacts): boolean {
  if (facts.kind === 'unconfigured' || isFull(facts)) return true
  if (facts.kind === 'network') return neverConnected.test(facts.code)
  return facts.kind === 'timeout' && facts.phase === 'connect'
}

/**
 * True where the failure speaks against the target and not against the request. What a caller can provoke at will (a
 * validation, a page of a web firewall, an unknown model) must not close a target to everyone else, and a target that
 * asks for patience is in good health.
 */
export function countsAgainstBreaker(facts: UpstreamFacts): boolean {
  if (facts.kind === 'unconfigured' || isFull(facts)) return false
  const code = classify(facts).code
  if (facts.kind === 'status' && !(facts.status >= 500 || facts.status < 400 || [401, 402, 407, 408].includes(facts.status)))
    return false
  return code === 'upstream_error' || code === 'upstream_not_configured' || code === 'upstream_model_unavailable'
}

const neverConnected = new RegExp(
  `${wrongAddress.source}|^(?:ECONNREFUSED|EHOSTUNREACH|EHOSTDOWN|ENETUNREACH|ENETDOWN|UND_ERR_CONNECT_TIMEOUT)$`,
)
