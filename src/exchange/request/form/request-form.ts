/** The form in which a target receives messages and tools: what is known of the target, and what that means for one request. */
import type { FilePartKind } from '../../../conversation/media/find-media.ts'
import type { ApiFormatName } from '../../api-format/api-format-name.ts'

export type TargetApi = 'chat' | 'anthropic' | 'gemini' | 'responses'

/** What is known of a target, from its configuration and from its rejections. */
export interface TargetFacts {
  readonly api: TargetApi
  readonly developerRole: 'developer' | 'system'
  /** Whether messages may have the reasoning of earlier answers; `required`: the target rejects calls without it. */
  readonly reasoning: 'accepted' | 'rejected' | 'required'
  /** Whether each turn of calls needs a signature of its thoughts. */
  readonly requiresSignatures: boolean
  readonly takesMarks: boolean
  /** Kinds of files that it rejects. */
  readonly refusedMedia: readonly FilePartKind[]
  /** Whether it rejects files in a message of the role `tool`. */
  readonly refusesToolMedia: boolean
  /** Whether it rejects what clients of its own API send, so that it receives the translation. */
  readonly refusesNative?: boolean
}

export interface RequestForm {
  readonly api: TargetApi
  /** Whether a request of the same API is sent as it was received. */
  readonly isNative: boolean
  readonly developerRole: 'developer' | 'system'
  readonly reasoning: 'kept' | 'removed' | 'required'
  /** Whether signatures on calls are kept, or each turn of calls has one. */
  readonly signatures: 'kept' | 'removed' | 'required'
  readonly keepsMarks: boolean
  /** Files that become a note. */
  readonly refusedMedia: readonly FilePartKind[]
  /** Whether files of a tool's result follow it in a message of the user. */
  readonly attachesToolMedia: boolean
  /** Whether files without a name get one. */
  readonly namesFiles: boolean
}

/** A target of chat completions that accepts what the member sent. */
export const plainChatTarget: TargetFacts = {
  api: 'chat',
  developerRole: 'developer',
  reasoning: 'accepted',
  requiresSignatures: false,
  takesMarks: false,
  refusedMedia: [],
  refusesToolMedia: false,
}

/** @param clientFormat undefined for chat completions, whose clients have chosen the form of their messages themselves */
export function toRequestForm(target: TargetFacts, clientFormat: ApiFormatName | undefined): RequestForm {
  const { api, developerRole, reasoning, requiresSignatures, takesMarks, refusedMedia, refusesToolMedia } = target
  const { refusesNative = false } = target
  const isTranslated = clientFormat !== undefined
  const isChat = api === 'chat'
  const removes = isTranslated && reasoning === 'rejected'
  return {
    api,
    isNative: !refusesNative && !isChat && clientFormat === formats[api],
    developerRole,
    reasoning: isChat && removes ? 'removed' : isChat && reasoning === 'required' ? 'required' : 'kept',
    signatures: isChat && removes ? 'removed' : isChat && requiresSignatures ? 'required' : 'kept',
    keepsMarks: takesMarks,
    refusedMedia,
    // The schema of a chat completion has texts alone in such a message.
    attachesToolMedia: isChat && (isTranslated || refusesToolMedia),
    namesFiles: isChat && isTranslated,
  }
}

/** The format whose requests are in the API of a target. */
const formats: Readonly<Record<Exclude<TargetApi, 'chat'>, ApiFormatName>> = {
  anthropic: 'messages',
  gemini: 'gemini',
  responses: 'responses',
}

/** Equal for equal forms. */
export function toFormKey(form: RequestForm): string {
  return JSON.stringify(form)
}
