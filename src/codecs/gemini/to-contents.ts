/**
 * Translates the messages of a chat completion to the turns of the API. It accepts less: roles alternate and begin with the user, results of
 * tools follow their calls directly and completely, and a system prompt stands beside the turns.
 */
import { isRecord } from '../../exchange/request/chat-request.ts'
import type { JsonObject } from '../../exchange/api-format/api-format.ts'
import { splitFiles } from '../chat/request/tool-results.ts'
import { readObjects, toText } from '../shared/read-json.ts'
import { toolErrorField } from '../../exchange/request/gemini-fields.ts'
import { tryParseJson } from '../../system/parse-json.ts'
import { parseInput } from '../shared/parse-input.ts'
import { emptyResult, openingText } from '../shared/placeholders.ts'
import { toContentParts } from './content-parts.ts'
import { readSignature, readSignatures, unknownSignature } from './thought-signatures.ts'

interface Turn {
  readonly role: 'user' | 'model'
  readonly parts: JsonObject[]
}

interface Contents {
  readonly systemInstruction: { readonly parts: readonly JsonObject[] } | null
  readonly contents: readonly Turn[]
}

/** @throws GatewayError `invalid_request` for a part that the API has no place for */
export function toContents(messages: readonly unknown[]): Contents {
  const builder = new ContentsBuilder()
  for (const [i, message] of messages.entries()) if (isRecord(message)) builder.add(message, `messages[${i}]`)
  return builder.finish()
}

class ContentsBuilder {
  readonly #system: JsonObject[] = []
  readonly #turns: Turn[] = []
  /** Names of the last turn's calls that have no result yet, by their ids. */
  readonly #openCalls = new Map<string, string>()

  add(message: JsonObject, path: string): void {
    const { role, content } = message
    if (role === 'system' || role === 'developer') this.#addSystem(toContentParts(content, path))
    else if (role === 'assistant') this.#addAssistant(message, path)
    else if (role === 'tool') this.#addResult(message, path)
    else this.#addUser(toContentParts(content, path))
  }

  finish(): Contents {
    this.#closeCalls()
    if (this.#turns[0]?.role !== 'user') this.#turns.unshift({ role: 'user', parts: [{ text: openingText }] })
    return { systemInstruction: this.#system.length === 0 ? null : { parts: this.#system }, contents: this.#turns }
  }

  /** Later ones become part of the user's turn, because only the first ones can stand beside the turns. */
  #addSystem(parts: readonly JsonObject[]): void {
    const texts = parts.filter(({ text }) => typeof text === 'string')
    if (this.#turns.length === 0) this.#system.push(...texts)
    else this.#addUser(texts.map(({ text }) => ({ text: `<system>\n${toText(text)}\n</system>` })))
  }

  #addUser(parts: readonly JsonObject[]): void {
    this.#closeCalls()
    this.#append('user', parts)
  }

  #addAssistant(message: JsonObject, path: string): void {
    this.#closeCalls()
    const { content, refusal, tool_calls: calls } = message
    const signatures = readSignatures(message)
    const texts = toContentParts(content ?? refusal, path)
    const parts = signatures.text === '' ? texts : signLast(texts, signatures.text)
    for (const [i, call] of readObjects(calls).entries()) {
      const { function: functionCall } = call
      if (!isRecord(functionCall)) continue
      const [id, name] = [toText(call['id']), toText(functionCall['name'])]
      const signature = readSignature(call) || signatures.byCall.get(id) || (i === 0 ? unknownSignature : '')
      parts.push({
        functionCall: { ...(id === '' ? {} : { id }), name, args: parseInput(functionCall['arguments']) },
        ...(signature === '' ? {} : { thoughtSignature: signature }),
      })
      this.#openCalls.set(id, name)
    }
    this.#append('model', parts)
  }

  /** A result of no open call is a text of the user, because the history may have been shortened. */
  #addResult(message: JsonObject, path: string): void {
    const id = toText(message['tool_call_id'])
    const parts = toContentParts(message['content'], path)
    const name = this.#openCalls.get(id)
    if (name === undefined) return this.#addUser([{ text: `Result of the tool call ${id}:` }, ...parts])
    this.#openCalls.delete(id)
    const { lines, attached } = splitFiles(parts, { isFile, callId: id })
    // Files at the end need no mark in the text: they follow it.
    const firstFile = parts.findIndex(isFile)
    const isInOrder = firstFile === -1 || parts.slice(firstFile).every(isFile)
    const texts = isInOrder ? parts.flatMap(({ text }) => (typeof text === 'string' ? [text] : [])) : lines
    const response = toResponse(texts.join('\n') || emptyResult, { isError: message[toolErrorField] === true })
    this.#append('user', [toFunctionResponse(id, name, response)])
    // A result has no place for files in all models.
    this.#append(
      'user',
      attached.map((each) => (typeof each === 'string' ? { text: each } : each)),
    )
  }

  #closeCalls(): void {
    this.#append(
      'user',
      [...this.#openCalls].map(([id, name]) => toFunctionResponse(id, name, { output: emptyResult })),
    )
    this.#openCalls.clear()
  }

  #append(role: Turn['role'], parts: readonly JsonObject[]): void {
    if (parts.length === 0) return
    const last = this.#turns.at(-1)
    if (last?.role === role) for (const part of parts) last.parts.push(part)
    else this.#turns.push({ role, parts: [...parts] })
  }
}

function isFile({ text }: JsonObject): boolean {
  return typeof text !== 'string'
}

/** A signature of the text stands on its last part, or alone where the text was empty. */
function signLast(parts: readonly JsonObject[], thoughtSignature: string): JsonObject[] {
  const last = parts.at(-1)
  return last === undefined ? [{ text: '', thoughtSignature }] : [...parts.slice(0, -1), { ...last, thoughtSignature }]
}

function toFunctionResponse(id: string, name: string, response: JsonObject): JsonObject {
  return { functionResponse: { ...(id === '' ? {} : { id }), name, response } }
}

/** A result that is a JSON object is sent as one, and a text under the name that the API gives it. */
function toResponse(text: string, { isError }: { readonly isError: boolean }): JsonObject {
  if (isError) return { error: text }
  const value = text.startsWith('{') ? tryParseJson(text) : undefined
  return isRecord(value) ? value : { output: text }
}
