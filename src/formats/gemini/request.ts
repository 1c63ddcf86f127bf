/** Translates a request of `generateContent` to a chat completion request. */
import { invalidRequest } from '../../errors.ts'
import type { JsonObject, RequestContext, TranslatedRequest } from '../../exchange/api-format/api-format.ts'
import type { GeminiState } from '../../codecs/gemini/generate-encoder.ts'
import { geminiSettingsField, thinkingConfigField } from '../../exchange/request/gemini-fields.ts'
import {
  invalidField,
  isAbsent,
  readOptionalBoolean,
  readOptionalCount,
  readOptionalNumber,
  readOptionalObject,
  readOptionalText,
  requireList,
  requireObject,
  requireText,
} from '../shared/fields.ts'
import { isStrict } from '../messages/request.ts'
import { ContentsBuilder } from './contents.ts'
import { toCamelCase } from './json-names.ts'
import { toNativeRequest } from './native-request.ts'
import { toJsonSchema } from './open-api-schema.ts'
import { translateToolChoice, translateTools } from './request-tools.ts'

/** Of the body: fields that are translated, or that no answer depends on. Others are named in the header of dropped fields. */
const knownFields: ReadonlySet<string> = new Set(
  'model stream contents systemInstruction tools toolConfig safetySettings generationConfig cachedContent'.split(' '),
)

const knownSettings: ReadonlySet<string> = new Set(
  `temperature topP topK candidateCount maxOutputTokens stopSequences presencePenalty frequencyPenalty seed responseMimeType
  responseSchema responseJsonSchema responseModalities imageConfig thinkingConfig mediaResolution`.split(/\s+/),
)

const callingPath = 'toolConfig.functionCallingConfig'

export function toChat(
  sent: JsonObject,
  { unseal, isSealed, hostsSearch = false, targetApis }: RequestContext,
): TranslatedRequest<GeminiState> {
  const body = toCamelCase(sent)
  const model = requireText(body['model'], 'model')
  refuseUnsupported(body)
  const config = readOptionalObject(body['generationConfig'], 'generationConfig') ?? {}
  const ignoredFields = new Set<string>()
  for (const name in body) if (!knownFields.has(name) && !isAbsent(body[name])) ignoredFields.add(name)
  const calling = readOptionalObject(readOptionalObject(body['toolConfig'], 'toolConfig')?.['functionCallingConfig'], callingPath)
  if (calling?.['streamFunctionCallArguments'] === true) ignoredFields.add(`${callingPath}.streamFunctionCallArguments`)
  for (const name in config)
    if (!knownSettings.has(name) && !isAbsent(config[name])) ignoredFields.add(`generationConfig.${name}`)
  const { tools, originalNames, search, ignored: ignoredTools } = translateTools(body['tools'], { hostsSearch })
  for (const name of ignoredTools) ignoredFields.add(name)
  const contents = new ContentsBuilder({ model, unseal, ignored: ignoredFields })
  contents.addSystem(body['systemInstruction'])
  const turns = requireList(body['contents'] ?? [], 'contents')
  if (turns.length === 0)
    throw invalidField('contents', 'must be an array with at least one content', '必须是至少包含一项内容的数组')
  for (const [i, turn] of turns.entries()) contents.addContent(turn, `contents[${i}]`)
  const messages = contents.finish()
  if (messages.length === 0)
    throw invalidField('contents', 'must have at least one part that this service supports', '必须至少包含一个此处支持的部分')
  const thinking = readOptionalObject(config['thinkingConfig'], 'generationConfig.thinkingConfig')
  const chat: JsonObject = {
    model,
    messages,
    ...(body['stream'] === true ? { stream: true, stream_options: { include_usage: true } } : {}),
    ...translateSettings(config),
    ...translateOutputFormat(config),
    ...translateToolChoice(body['toolConfig'], tools),
    ...translateThinking(thinking),
    ...keepSettings(body, config),
  }
  const showsThoughts = readOptionalBoolean(thinking?.['includeThoughts'], 'generationConfig.thinkingConfig.includeThoughts')
  const state = { model, toolNames: originalNames, showsThoughts: showsThoughts === true }
  const native =
    targetApis?.has('gemini') === true && search === undefined ? toNativeRequest(body, { model, unseal, isSealed }) : undefined
  return { chat, state, ignored: [...ignoredFields], hostedSearch: search, native }
}

/** Of `countTokens`, whose body may hold a whole request. */
export function toCountedChat(sent: JsonObject, context: RequestContext): TranslatedRequest<GeminiState> {
  const { generateContentRequest: inner, ...body } = toCamelCase(sent)
  if (isAbsent(inner)) return toChat(body, context)
  return toChat({ ...requireObject(inner, 'generateContentRequest'), model: body['model'] }, context)
}

/** A cache belongs to the operator's account, which all members share. */
function refuseUnsupported({ cachedContent, generationConfig }: JsonObject): void {
  if (!isAbsent(cachedContent) && cachedContent !== '')
    throw invalidRequest(
      {
        en: "'cachedContent' is not supported here; send the contents with each request.",
        zh: "此处不提供 'cachedContent'，请在每次请求中发送内容。",
      },
      'cachedContent',
    )
  const path = 'generationConfig.candidateCount'
  const candidates = readOptionalCount(readOptionalObject(generationConfig, 'generationConfig')?.['candidateCount'], path) ?? 1
  if (candidates > 1) throw invalidField(path, 'must be 1', '必须为 1')
}

/** Numbers with one counterpart, by their names in a chat completion. */
const numbers: Readonly<Record<string, string>> = {
  temperature: 'temperature',
  top_p: 'topP',
  top_k: 'topK',
  presence_penalty: 'presencePenalty',
  frequency_penalty: 'frequencyPenalty',
  seed: 'seed',
}

function translateSettings(config: JsonObject): JsonObject {
  const cap = readOptionalCount(config['maxOutputTokens'], 'generationConfig.maxOutputTokens')
  const stop = isAbsent(config['stopSequences']) ? [] : requireList(config['stopSequences'], 'generationConfig.stopSequences')
  const sentNumbers = Object.entries(numbers).flatMap(([name, own]) => {
    const value = readOptionalNumber(config[own], `generationConfig.${own}`)
    return value === undefined ? [] : [[name, value] as const]
  })
  const modalities = isAbsent(config['responseModalities'])
    ? []
    : requireList(config['responseModalities'], 'generationConfig.responseModalities').map((kind) => String(kind).toLowerCase())
  const image = readOptionalObject(config['imageConfig'], 'generationConfig.imageConfig')
  return {
    ...(cap === undefined ? {} : { max_tokens: cap }),
    ...Object.fromEntries(sentNumbers),
    ...(stop.length === 0 ? {} : { stop: stop.map((text, i) => requireText(text, `generationConfig.stopSequences[${i}]`)) }),
    ...(modalities.some((kind) => kind !== 'text') ? { modalities } : {}),
    ...(image === undefined ? {} : { image_config: { aspect_ratio: image['aspectRatio'], image_size: image['imageSize'] } }),
  }
}

function translateOutputFormat(config: JsonObject): JsonObject {
  const type = readOptionalText(config['responseMimeType'], 'generationConfig.responseMimeType')
  const jsonSchema = readOptionalObject(config['responseJsonSchema'], 'generationConfig.responseJsonSchema')
  const ownSchema = readOptionalObject(config['responseSchema'], 'generationConfig.responseSchema')
  const schema = jsonSchema ?? (ownSchema === undefined ? undefined : toJsonSchema(ownSchema))
  if (schema !== undefined)
    return { response_format: { type: 'json_schema', json_schema: { name: 'output', schema, strict: isStrict(schema) } } }
  return type === 'application/json' ? { response_format: { type: 'json_object' } } : {}
}

/** Budgets up to which the effort is low or medium. */
const maxLowBudget = 2_048
const maxMediumBudget = 8_192
const levels: ReadonlySet<string> = new Set(['minimal', 'low', 'medium', 'high'])

/** A budget of 0 or -1 leaves the effort to the upstream. */
function translateThinking(thinking: JsonObject | undefined): JsonObject {
  if (thinking === undefined) return {}
  const path = 'generationConfig.thinkingConfig'
  const level = readOptionalText(thinking['thinkingLevel'], `${path}.thinkingLevel`)?.toLowerCase()
  const budget = readOptionalNumber(thinking['thinkingBudget'], `${path}.thinkingBudget`) ?? 0
  const effort =
    level !== undefined && levels.has(level)
      ? level
      : budget <= 0
        ? undefined
        : budget <= maxLowBudget
          ? 'low'
          : budget <= maxMediumBudget
            ? 'medium'
            : 'high'
  return { [thinkingConfigField]: thinking, ...(effort === undefined ? {} : { reasoning_effort: effort }) }
}

/** As sent, for upstreams of this API. */
function keepSettings({ safetySettings }: JsonObject, { mediaResolution }: JsonObject): JsonObject {
  const settings = {
    ...(Array.isArray(safetySettings) ? { safetySettings } : {}),
    ...(typeof mediaResolution === 'string' ? { generationConfig: { mediaResolution } } : {}),
  }
  return Object.keys(settings).length === 0 ? {} : { [geminiSettingsField]: settings }
}
