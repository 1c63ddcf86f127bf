/** The Messages API: `POST /v1/messages`, as Claude Code and Anthropic's SDKs speak it. */
import type { ApiFormat } from '../../exchange/api-format/api-format.ts'
import { MessagesEncoder } from './encoder.ts'
import { toFailureReply } from './failures.ts'
import { toChat } from './request.ts'
import type { MessagesState } from './request.ts'

export const messagesFormat: ApiFormat<MessagesState> = {
  name: 'messages',
  toChat,
  createEncoder: (context) => new MessagesEncoder(context),
  toFailureReply,
}
