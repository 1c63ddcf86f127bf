/** A chat request as a target receives it. */
import { plainChatTarget, toRequestForm } from '../exchange/request/form/request-form.ts'
import { findPreparedParts, toTargetRequest } from '../exchange/request/form/target-request.ts'
import type { RequestTarget, TargetRequest } from '../exchange/request/form/target-request.ts'
import type { ChatRequest } from '../exchange/request/chat-request.ts'
import { encodeChatParts } from './chat/request/chat-parts.ts'

/** @throws GatewayError `invalid_request` if the target has no place for a part of it */
export function encodeForTarget(chat: ChatRequest, target: RequestTarget): TargetRequest {
  return toTargetRequest(chat, target, encodeChatParts)
}

/** The messages for any server of chat completions; of a large request as `RawJson`. */
export function encodeChatMessages(chat: ChatRequest): unknown {
  const form = toRequestForm(plainChatTarget, chat.format)
  return (findPreparedParts(chat, form) ?? encodeChatParts(chat, form)).fields['messages']
}
