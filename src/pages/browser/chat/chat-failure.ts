/** Failures of an answer: as they are stored with it, and the model that may be asked instead. */
import { ApiError, isErrorEnvelope } from '../api-client.ts'
import type { ChatModel } from '../../page-data.ts'
import { getTexts } from '../page.ts'
import type { StoredFailure } from './chat-message.ts'

export function createBrokenStreamError(): ApiError {
  return toApiError({ status: 0, envelope: null })
}

/** The stored failure; where the service reported none, the answer broke off. */
export function toApiError({ status, envelope, retryAfter = null, resetsAt = null }: StoredFailure): ApiError {
  const failure = new ApiError(status, isErrorEnvelope(envelope) ? envelope : null, retryAfter, resetsAt)
  if (failure.envelope === null) failure.message = getTexts('chat').broken
  return failure
}

/** The model that the failure names, because it serves this request; else one of the other tier, or any, that does the same. */
export function findOtherModel(
  { envelope }: ApiError,
  {
    models,
    failed,
    needsVision,
  }: { readonly models: readonly ChatModel[]; readonly failed: string | undefined; readonly needsVision: boolean },
): ChatModel | undefined {
  const before = models.find(({ name }) => name === failed)
  const neededCapabilities = (before?.capabilities ?? ['chat']).filter(
    (each) => each !== 'tools' && (each !== 'vision' || needsVision),
  )
  const others = models.filter(({ id }) => id !== before?.id)
  const able = others.filter(({ capabilities }) => neededCapabilities.every((each) => capabilities.includes(each)))
  return (
    others.find(({ id }) => envelope?.message.includes(`'${id}'`)) ?? able.find(({ tier }) => tier !== before?.tier) ?? able[0]
  )
}
