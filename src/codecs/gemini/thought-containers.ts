/**
 * Thoughts that a client returns in `thoughtSignature`, which its SDK reads as bytes in Base64. One signature holds any number of sealed
 * containers: the thoughts before a call belong to the call.
 */
import { openReasoning, sealReasoning } from '../shared/sealed-reasoning.ts'
import type { Reasoning } from '../shared/sealed-reasoning.ts'

/** Empty without any. */
export function toThoughtSignature(
  thoughts: readonly Reasoning[],
  context: { readonly model: string; seal(text: string): string },
): string {
  const sealedThoughts = thoughts.map((each) => sealReasoning(each, context)).filter((container) => container !== '')
  return sealedThoughts.length === 0 ? '' : Buffer.from(sealedThoughts.join('\n')).toString('base64')
}

/** More containers are not opened. */
const maxContainers = 64

/** The thoughts that this service has sealed for the same account and model; none of another signature. */
export function readThoughtSignature(
  signature: unknown,
  context: { readonly model: string; unseal(container: string): string | null },
): readonly Reasoning[] {
  if (typeof signature !== 'string' || signature === '') return []
  const containers = Buffer.from(signature, 'base64').toString('latin1').split('\n', maxContainers)
  return containers.flatMap((container) => openReasoning(container, '', context) ?? [])
}
