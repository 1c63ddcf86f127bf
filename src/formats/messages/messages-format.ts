/** The Messages API: `POST /v1/messages`, as Claude Code and Anthropic's SDKs speak it. */
import type { ApiFormat } from '../../exchange/api-format/api-format.ts'
import { MessagesEncoder } from '../../codecs/messages/message-encoder.ts'
import type { MessagesState } from '../../codecs/messages/message-encoder.ts'
import { toFailureReply } from '../../codecs/messages/failures.ts'
import { toChat } from './request.ts'

export const messagesFormat: ApiFormat<MessagesState> = {
  name: 'messages',
  toChat,
  createEncoder: (context) => new MessagesEncoder(context),
  toFailureReply,
}
