/**
 * A request of the Gemini API as targets of the same API receive it. A conversation that needs a repair, or that has parts which no target
 * receives, is translated.
 */
import { ExtraFields, isEmpty, mapObjects, toNameSet } from '../../exchange/request/form/native-request.ts'
import type { NativeRequest } from '../../exchange/request/form/native-request.ts'
import { callSignaturesField } from '../../exchange/request/gemini-fields.ts'
import type { JsonObject, RequestContext } from '../../exchange/api-format/api-format.ts'
import { readThoughtSignature } from '../../codecs/gemini/thought-containers.ts'
import { readSignature, unknownSignature } from '../../codecs/gemini/thought-signatures.ts'
import { toText } from '../../codecs/shared/read-json.ts'
import { isAbsent, isObject } from '../shared/fields.ts'

/** Of `generationConfig`; others are named in the header of dropped fields. */
const settings = toNameSet(
  'temperature topP topK candidateCount stopSequences presencePenalty frequencyPenalty seed responseMimeType responseSchema responseJsonSchema thinkingConfig mediaResolution',
)
/** Kinds of parts, one for each part, and what may stand beside it. */
const kinds = ['text', 'inlineData', 'fileData', 'functionCall', 'functionResponse'] as const
const partFields = toNameSet(`${kinds.join(' ')} thought thoughtSignature`)
const contentFields = toNameSet('role parts')
const fileFields = toNameSet('mimeType data fileUri')
const callFields = toNameSet('id name args response parts')
const declarationFields = toNameSet('name description parameters parametersJsonSchema')
const noFields: ReadonlySet<string> = new Set()

type NativeContext = Pick<RequestContext, 'unseal' | 'isSealed'> & { readonly model: string }

/**
 * @param body a request that was translated without a fault, in the first spelling of its fields
 * @returns undefined also where it requests pictures, which the policy of the upstream decides on
 */
export function toNativeRequest(body: JsonObject, context: NativeContext): NativeRequest | undefined {
  const reader = new NativeReader(context)
  const { systemInstruction: system, toolConfig, safetySettings } = body
  const config = isObject(body['generationConfig']) ? body['generationConfig'] : {}
  const contents = reader.readContents(body['contents'])
  const tools = isAbsent(body['tools']) ? [] : mapObjects(body['tools'], (tool) => reader.readTool(tool))
  const { responseModalities: modalities, imageConfig: image } = config
  if (contents === null || tools === null || !reader.readSystem(system) || !isAbsent(image) || !isEmpty(modalities))
    return undefined
  const calling = isObject(toolConfig) ? readCalling(toolConfig['functionCallingConfig']) : undefined
  const fields = {
    contents,
    ...(isAbsent(system) ? {} : { systemInstruction: system }),
    ...(tools.length === 0 ? {} : { tools }),
    // Without tools there is nothing to choose from.
    ...(isAbsent(calling) || tools.length === 0 ? {} : { toolConfig: { functionCallingConfig: calling } }),
    ...(Array.isArray(safetySettings) ? { safetySettings } : {}),
    generationConfig: Object.fromEntries(
      Object.entries(config).filter(([name, value]) => settings.has(name) && !isAbsent(value)),
    ),
  }
  return reader.extra.hasRefused ? undefined : { api: 'gemini', fields, extra: reader.extra }
}

/** Without the setting of Vertex AI that streams arguments in pieces: calls are written whole. */
function readCalling(config: unknown): unknown {
  if (!isObject(config)) return config
  const { streamFunctionCallArguments: _, ...rest } = config
  return rest
}

/** The methods return null, or false, for what needs a repair. */
class NativeReader {
  readonly extra = new ExtraFields()
  readonly #context: NativeContext
  /** Ids and names of the calls of the turn before. */
  #openCalls: readonly JsonObject[] = []
  #wasModel = true

  constructor(context: NativeContext) {
    this.#context = context
  }

  readContents(list: unknown): readonly JsonObject[] | null {
    const contents = mapObjects(list, (content) => this.#readContent(content))
    return this.#openCalls.length > 0 ? null : contents
  }

  readSystem(system: unknown): boolean {
    if (isAbsent(system)) return true
    if (!isObject(system) || !Array.isArray(system['parts']) || isEmpty(system['parts'])) return false
    this.extra.add(system, contentFields)
    return system['parts'].every((part) => isObject(part) && toText(part['text']) !== '' && Object.keys(part).length === 1)
  }

  /** Without what Google's servers would run. */
  readTool({ functionDeclarations: declarations }: JsonObject): JsonObject | null | undefined {
    if (isEmpty(declarations)) return undefined
    const keptDeclarations = mapObjects(declarations, (declaration) => {
      const { name, parametersJsonSchema: schema, parameters } = declaration
      this.extra.add(declaration, declarationFields)
      if (!isAbsent(schema) && !isAbsent(parameters)) return null
      return /^[A-Za-z_][\w.:-]{0,127}$/.test(toText(name)) ? declaration : null
    })
    return keptDeclarations === null ? null : { functionDeclarations: keptDeclarations }
  }

  /** Turns of the user and of the model alternate, and the user has the first. */
  #readContent(content: JsonObject): JsonObject | null {
    const { role, parts } = content
    const isModel = role === 'model'
    this.extra.add(content, contentFields)
    if ((isModel && this.#wasModel) || isEmpty(parts)) return null
    this.#wasModel = isModel
    const nativeParts = mapObjects(parts, (part) => this.#readPart(part, isModel))
    if (nativeParts === null || nativeParts.length === 0) return null
    const results = nativeParts.flatMap(({ functionResponse: each }) => (isObject(each) ? [each] : []))
    if (!isAnswered(this.#openCalls, results)) return null
    this.#openCalls = nativeParts.flatMap(({ functionCall: each }) => (isObject(each) ? [each] : []))
    return { ...content, parts: markFirstCall(nativeParts) }
  }

  #readPart(part: JsonObject, isModel: boolean): JsonObject | null {
    const partKinds = kinds.filter((kind) => !isAbsent(part[kind]))
    const [kind] = partKinds
    if (kind === undefined || partKinds.length > 1) return null
    // The user makes no calls, and the model answers none and names no files.
    if (isModel ? kind === 'fileData' || kind === 'functionResponse' : kind === 'functionCall') return null
    const { thoughtSignature: sentSignature, ...rest } = part
    const value = part[kind]
    this.extra.add(part, partFields)
    if (isObject(value) && !this.#readValue(kind, value)) return null
    // The chat request has no thoughts without a signature of this service.
    if (part['thought'] === true) this.extra.add({ value }, noFields)
    const signature = isModel ? this.#openSignature(toText(sentSignature)) : ''
    if (value === '' && signature === '') return null
    return signature === '' ? rest : { ...rest, thoughtSignature: signature }
  }

  #readValue(kind: (typeof kinds)[number], value: JsonObject): boolean {
    this.extra.add(value, kind.startsWith('function') ? callFields : fileFields)
    if (!kind.startsWith('function')) return true
    const { parts = [] } = value
    return (
      mapObjects(parts, (part) => {
        const file = part['inlineData'] ?? part['fileData']
        this.extra.add(part, partFields)
        if (isObject(file)) this.extra.add(file, fileFields)
        return isObject(file) && isAbsent(part['text']) ? part : null
      }) !== null
    )
  }

  /** The signature of the vendor; empty for one that this service has sealed and cannot open, or for thoughts of another upstream. */
  #openSignature(sent: string): string {
    if (sent === '') return ''
    if (this.#context.isSealed?.(Buffer.from(sent, 'base64').toString('latin1')) !== true) {
      this.extra.add({ sent }, noFields, 'settings')
      return sent
    }
    const signatures = readThoughtSignature(sent, this.#context).flatMap((each) =>
      each.signed?.field === callSignaturesField ? readSignature(each.signed.value) : [],
    )
    return signatures.at(-1) ?? ''
  }
}

/** Whether each call has one result, of its id or of its name. */
function isAnswered(calls: readonly JsonObject[], results: readonly JsonObject[]): boolean {
  if (calls.length !== results.length) return false
  const open = new Map<string, number>()
  for (const call of calls) open.set(toKey(call), (open.get(toKey(call)) ?? 0) + 1)
  return results.every((result) => {
    const openCount = open.get(toKey(result)) ?? 0
    open.set(toKey(result), openCount - 1)
    return openCount > 0
  })
}

function toKey({ id, name }: JsonObject): string {
  return `${toText(id)}\n${toText(name)}`
}

/** Newer models reject a turn whose first call has no signature. */
function markFirstCall(parts: readonly JsonObject[]): readonly JsonObject[] {
  const first = parts.find(({ functionCall: call }) => isObject(call))
  if (first === undefined || first['thoughtSignature'] !== undefined) return parts
  return parts.map((part) => (part === first ? { ...part, thoughtSignature: unknownSignature } : part))
}
