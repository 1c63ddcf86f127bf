/** Messages and tools as a target of chat completions receives them: without private fields, and in the form that it accepts. */
import { breakpointsField, thinkingField } from '../../../exchange/request/anthropic-fields.ts'
import { isRecord } from '../../../exchange/request/chat-request.ts'
import { toFormMessages } from '../../../exchange/request/form/target-request.ts'
import type { PartsEncoder } from '../../../exchange/request/form/target-request.ts'
import type { RequestForm } from '../../../exchange/request/form/request-form.ts'
import { paidFields } from '../../../exchange/request/form/cache-marks.ts'
import { callSignaturesField, toolErrorField } from '../../../exchange/request/gemini-fields.ts'
import { reasoningItemsField } from '../../../exchange/request/responses-fields.ts'
import { encodeMarks, encodeItemMarks } from './cache-marks.ts'
import { mapItems } from './map-items.ts'
import { nameFiles } from './name-files.ts'
import { encodeReasoning, encodeSignatures } from './reasoning-fields.ts'
import { attachToolMedia, writeToolErrors } from './tool-results.ts'

type Fields = Readonly<Record<string, unknown>>

/** The same lists where nothing changes. */
export const encodeChatParts: PartsEncoder = (chat, form) => {
  const { messages, dropped } = toFormMessages(chat, form)
  const { tools } = chat.body
  return {
    fields: { messages: encodeMessages(messages, form), ...(tools === undefined ? {} : { tools: encodeTools(tools, form) }) },
    facts: {},
    dropped,
  }
}

function encodeMessages(messages: readonly unknown[], form: RequestForm): readonly unknown[] {
  // The marks of a result belong to its text, which the step before completes.
  const writtenMessages = form.attachesToolMedia ? attachToolMedia(messages) : writeToolErrors(messages)
  return mapItems(writtenMessages, (message) => {
    const namedMessage = form.namesFiles ? nameFiles(message) : message
    const markedMessage = form.keepsMarks ? encodeMarks(namedMessage) : stripPaidFields(namedMessage)
    return stripPrivateFields(encodeSignatures(encodeReasoning(markedMessage, form.reasoning), form.signatures))
  })
}

function encodeTools(tools: unknown, { keepsMarks }: RequestForm): unknown {
  return Array.isArray(tools) ? mapItems(tools as unknown[], keepsMarks ? encodeItemMarks : stripPaidFields) : tools
}

const privateFields = [breakpointsField, thinkingField, reasoningItemsField, callSignaturesField, toolErrorField] as const

function stripPrivateFields(message: Fields): Fields {
  return omitFields(message, privateFields)
}

/** A message or a tool without fields that buy something. */
function stripPaidFields(item: Fields): Fields {
  const { content, function: inner, tool_calls: calls } = item
  const changes: Record<string, unknown> = {}
  if (Array.isArray(content)) changes['content'] = mapItems(content as unknown[], (part) => omitFields(part, paidFields))
  if (Array.isArray(calls)) changes['tool_calls'] = mapItems(calls as unknown[], stripPaidFields)
  if (isRecord(inner)) changes['function'] = omitFields(inner, paidFields)
  const remainingFields = omitFields(item, paidFields)
  return Object.entries(changes).every(([name, value]) => item[name] === value)
    ? remainingFields
    : { ...remainingFields, ...changes }
}

function omitFields(item: Fields, names: readonly string[]): Fields {
  if (names.every((name) => item[name] === undefined)) return item
  const copy: Record<string, unknown> = { ...item }
  for (const name of names) delete copy[name]
  return copy
}
