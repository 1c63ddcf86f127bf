/**
 * Builds the messages of a chat completion from turns. Model servers accept less than the Gemini API: results of tools must follow their
 * calls directly and completely, each with the id of its call, and pictures stand in the user's messages alone.
 */
import type { JsonObject } from '../../exchange/api-format/api-format.ts'
import { invalidField, isAbsent, isObject, readOptionalText, requireList, requireObject, requireText } from '../shared/fields.ts'
import { toReasoningFields } from '../../codecs/shared/sealed-reasoning.ts'
import type { Reasoning } from '../../codecs/shared/sealed-reasoning.ts'
import { toolErrorField } from '../../exchange/request/gemini-fields.ts'
import { emptyResult } from '../../codecs/shared/placeholders.ts'
import { toFunctionName } from '../../codecs/shared/tool-names.ts'
import { translateFile } from './input-parts.ts'
import { readThoughtSignature } from '../../codecs/gemini/thought-containers.ts'

interface ContentsOptions {
  readonly model: string
  unseal(container: string): string | null
  /** Receives the names of ignored parts, as in `contents.executableCode`. */
  readonly ignored: Set<string>
}

interface Call {
  readonly id: string
  readonly name: string
  readonly arguments: string
  result?: ToolResult
}

interface ToolResult {
  readonly text: string
  readonly isError: boolean
  readonly files: readonly JsonObject[]
}

interface ModelMessage {
  readonly role: 'assistant'
  readonly texts: string[]
  readonly thoughts: Reasoning[]
  /** As they were shown. */
  readonly thoughtTexts: string[]
  readonly calls: Call[]
  /** Its calls without a result, by their ids, and in their order by their names. */
  readonly openById: Map<string, Call>
  readonly openByName: Map<string, Set<Call>>
}

/** Fields of parts that are read, or that say nothing to another model. */
const knownFields: ReadonlySet<string> = new Set([
  'text',
  'thought',
  'thoughtSignature',
  'inlineData',
  'fileData',
  'functionCall',
  'functionResponse',
  'videoMetadata',
  'mediaResolution',
  'partMetadata',
])

export class ContentsBuilder {
  readonly #options: ContentsOptions
  readonly #messages: (ModelMessage | { readonly role: 'user' | 'system'; readonly content: unknown })[] = []
  /** Parts of the next message of the user. */
  #userParts: JsonObject[] = []
  /** The turn before was the model's. A turn of the user may have results alone, which become no message of their own. */
  #isModelTurn = false

  constructor(options: ContentsOptions) {
    this.#options = options
  }

  addSystem(value: unknown): void {
    if (isAbsent(value)) return
    const texts =
      typeof value === 'string'
        ? [value]
        : this.#readTexts(requireObject(value, 'systemInstruction')['parts'], 'systemInstruction.parts')
    const text = texts.filter((each) => each !== '').join('\n\n')
    if (text !== '') this.#messages.push({ role: 'system', content: text })
  }

  addContent(value: unknown, path: string): void {
    const { role, parts } = requireObject(value, path)
    const list = (isAbsent(parts) ? [] : requireList(parts, `${path}.parts`)).map((part, i) => {
      const at = `${path}.parts[${i}]`
      return [requireObject(part, at), at] as const
    })
    if (role === 'model') {
      this.#endUserMessage()
      const message = this.#getModelMessage()
      this.#isModelTurn = true
      for (const [part, at] of list) this.#addModelPart(message, part, at)
      return
    }
    if (!isAbsent(role) && role !== 'user' && role !== 'function' && role !== 'tool')
      throw invalidField(`${path}.role`, "must be 'user' or 'model'", "必须是 'user' 或 'model'")
    this.#isModelTurn = false
    for (const [part, at] of list) this.#addUserPart(part, at)
  }

  finish(): readonly JsonObject[] {
    this.#endUserMessage()
    return this.#messages.flatMap((message): readonly JsonObject[] =>
      message.role === 'assistant' ? toTurnMessages(message) : [message],
    )
  }

  /** Programs keep a streamed answer as one turn for each event. */
  #getModelMessage(): ModelMessage {
    const last = this.#messages.at(-1)
    if (this.#isModelTurn && last?.role === 'assistant') return last
    const message: ModelMessage = {
      role: 'assistant',
      texts: [],
      thoughts: [],
      thoughtTexts: [],
      calls: [],
      openById: new Map(),
      openByName: new Map(),
    }
    this.#messages.push(message)
    return message
  }

  #addModelPart(message: ModelMessage, part: JsonObject, path: string): void {
    const { text, thought, functionCall: call } = part
    for (const each of readThoughtSignature(part['thoughtSignature'], this.#options)) message.thoughts.push(each)
    if (!isAbsent(call)) return addCall(message, requireObject(call, `${path}.functionCall`), `${path}.functionCall`)
    if (thought === true) return void message.thoughtTexts.push(readOptionalText(text, `${path}.text`) ?? '')
    message.texts.push(readOptionalText(text, `${path}.text`) ?? '')
    const file = translateFile(part, path)
    if (file !== null) this.#userParts.push(toTextPart('From the answer above:'), file)
    this.#ignoreOthers(part)
  }

  #addUserPart(part: JsonObject, path: string): void {
    const { text, functionResponse: result } = part
    if (!isAbsent(result)) return this.#addResult(requireObject(result, `${path}.functionResponse`), `${path}.functionResponse`)
    const sentText = readOptionalText(text, `${path}.text`) ?? ''
    if (sentText !== '') this.#userParts.push(toTextPart(sentText))
    const file = translateFile(part, path)
    if (file !== null) this.#userParts.push(file)
    this.#ignoreOthers(part)
  }

  /** A result of no call in the turn before is a text of the user, because the history may have been shortened. */
  #addResult(result: JsonObject, path: string): void {
    const id = readOptionalText(result['id'], `${path}.id`) ?? ''
    const name = requireText(result['name'], `${path}.name`)
    const toolResult = readResult(result['response'], `${path}.response`)
    const files = (isAbsent(result['parts']) ? [] : requireList(result['parts'], `${path}.parts`)).flatMap(
      (part, i): readonly JsonObject[] => {
        const file = translateFile(requireObject(part, `${path}.parts[${i}]`), `${path}.parts[${i}]`)
        return file === null ? [] : [file]
      },
    )
    const call = this.#takeOpenCall(id, toFunctionName({ name }))
    if (call !== undefined) return void (call.result = { ...toolResult, files })
    const text = `${toolResult.isError ? 'Error: ' : ''}${toolResult.text}`
    this.#userParts.push(toTextPart(`Result of the tool call ${id || name}:\n${text}`), ...files)
  }

  /** The call of this id, else the first one of this name, because many clients send no ids. */
  #takeOpenCall(id: string, name: string): Call | undefined {
    const last = this.#messages.at(-1)
    if (last?.role !== 'assistant') return undefined
    const [first] = last.openByName.get(name) ?? []
    const call = last.openById.get(id) ?? first
    if (call === undefined) return undefined
    last.openById.delete(call.id)
    last.openByName.get(call.name)?.delete(call)
    return call
  }

  #endUserMessage(): void {
    const parts = this.#userParts
    this.#userParts = []
    if (parts.length === 0) return
    // Some model servers accept a list of parts only for images.
    const isText = parts.every(({ type }) => type === 'text')
    this.#messages.push({ role: 'user', content: isText ? parts.map(({ text }) => String(text)).join('\n\n') : parts })
  }

  #readTexts(parts: unknown, path: string): readonly string[] {
    // A single part is accepted in place of a list.
    const list = isObject(parts) ? [parts] : isAbsent(parts) ? [] : requireList(parts, path)
    return list.map((part, i) => readOptionalText(requireObject(part, `${path}[${i}]`)['text'], `${path}[${i}].text`) ?? '')
  }

  #ignoreOthers(part: JsonObject): void {
    for (const name in part) if (!knownFields.has(name)) this.#options.ignored.add(`contents.${name}`)
  }
}

/** The message with its calls, then one result for each of them. */
function toTurnMessages({ role, texts, thoughts, thoughtTexts, calls }: ModelMessage): readonly JsonObject[] {
  const text = texts.join('')
  if (text === '' && calls.length === 0) return []
  const thoughtText = thoughtTexts.join('')
  // The text of a thought is in its signature, if this service has written it for the model.
  const plain: readonly Reasoning[] = thoughtText === '' ? [] : [{ field: 'reasoning_content', text: thoughtText }]
  const toolCalls = calls.map(({ id, name, arguments: args }) => ({ id, type: 'function', function: { name, arguments: args } }))
  return [
    {
      role,
      content: text === '' ? null : text,
      ...toReasoningFields(thoughts.length > 0 ? thoughts : plain),
      ...(calls.length === 0 ? {} : { tool_calls: toolCalls }),
    },
    ...calls.map(({ id, result }) => ({ role: 'tool', tool_call_id: id, ...toResultFields(result) })),
  ]
}

function toResultFields({ text, isError, files }: ToolResult = { text: emptyResult, isError: false, files: [] }): JsonObject {
  return {
    content: files.length === 0 ? text : [toTextPart(text), ...files],
    ...(isError ? { [toolErrorField]: true } : {}),
  }
}

/** Programs may return a call that had no id, or the id of another one. */
function addCall(
  { calls, openById, openByName }: ModelMessage,
  { id: sentId, name: sentName, args }: JsonObject,
  path: string,
): void {
  const ownId = readOptionalText(sentId, `${path}.id`) ?? ''
  const name = toFunctionName({ name: requireText(sentName, `${path}.name`) })
  const call: Call = {
    id: ownId !== '' && !openById.has(ownId) ? ownId : `${ownId || 'call'}_${calls.length}`,
    name,
    arguments: JSON.stringify(isAbsent(args) ? {} : requireObject(args, `${path}.args`)),
  }
  calls.push(call)
  openById.set(call.id, call)
  const same = openByName.get(name)
  if (same === undefined) openByName.set(name, new Set([call]))
  else same.add(call)
}

/** What is given under the API's name for an output or an error alone, else the object as it is. */
function readResult(response: unknown, path: string): Omit<ToolResult, 'files'> {
  if (isAbsent(response)) return { text: emptyResult, isError: false }
  const fields = requireObject(response, path)
  const { output, error } = fields
  const isAlone = Object.keys(fields).length === 1
  if (isAlone && typeof output === 'string') return { text: output || emptyResult, isError: false }
  if (isAlone && (isObject(error) || (typeof error === 'string' && error !== '')))
    return { text: typeof error === 'string' ? error : JSON.stringify(error), isError: true }
  return { text: JSON.stringify(fields), isError: false }
}

function toTextPart(text: string): JsonObject {
  return { type: 'text', text }
}
