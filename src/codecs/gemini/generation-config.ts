/** The settings of a request. */
import { isRecord } from '../../exchange/request/chat-request.ts'
import type { JsonObject } from '../../exchange/api-format/api-format.ts'
import { geminiSettingsField, thinkingConfigField } from '../../exchange/request/gemini-fields.ts'

/** Settings with one counterpart, by their names in a chat completion. */
const plainSettings: Readonly<Record<string, string>> = {
  temperature: 'temperature',
  top_p: 'topP',
  top_k: 'topK',
  presence_penalty: 'presencePenalty',
  frequency_penalty: 'frequencyPenalty',
  seed: 'seed',
}

export function toGenerationConfig(fields: JsonObject): JsonObject {
  const { [geminiSettingsField]: settings, modalities, image_config: image } = fields
  const cap = fields['max_completion_tokens'] ?? fields['max_tokens']
  const plain = Object.entries(plainSettings).filter(([name]) => typeof fields[name] === 'number')
  const thinking = toThinkingConfig(fields, typeof cap === 'number' ? cap : Number.POSITIVE_INFINITY)
  const stop = toStopSequences(fields['stop'])
  const ownConfig = isRecord(settings) && isRecord(settings['generationConfig']) ? settings['generationConfig'] : {}
  return {
    ...ownConfig,
    ...(typeof cap === 'number' ? { maxOutputTokens: cap } : {}),
    ...Object.fromEntries(plain.map(([name, own]) => [own, fields[name]])),
    ...(stop.length === 0 ? {} : { stopSequences: stop }),
    ...toOutputFormat(fields['response_format']),
    ...(thinking === null ? {} : { thinkingConfig: thinking }),
    ...(Array.isArray(modalities) ? { responseModalities: modalities.map((kind) => String(kind).toUpperCase()) } : {}),
    ...(isRecord(image) ? { imageConfig: toImageConfig(image) } : {}),
  }
}

/** `safetySettings` of a client of the same API. */
export function toSafetySettings({ [geminiSettingsField]: settings }: JsonObject): JsonObject {
  return isRecord(settings) && Array.isArray(settings['safetySettings']) ? { safetySettings: settings['safetySettings'] } : {}
}

function toStopSequences(stop: unknown): readonly string[] {
  const all: readonly unknown[] = Array.isArray(stop) ? stop : [stop]
  return all.filter((text): text is string => typeof text === 'string' && text !== '')
}

function toOutputFormat(format: unknown): JsonObject {
  if (!isRecord(format) || (format['type'] !== 'json_schema' && format['type'] !== 'json_object')) return {}
  const schema = isRecord(format['json_schema']) ? format['json_schema']['schema'] : undefined
  return { responseMimeType: 'application/json', ...(isRecord(schema) ? { responseJsonSchema: schema } : {}) }
}

/** OpenRouter's names. */
function toImageConfig({ aspect_ratio: aspectRatio, image_size: imageSize }: JsonObject): JsonObject {
  return {
    ...(typeof aspectRatio === 'string' ? { aspectRatio } : {}),
    ...(typeof imageSize === 'string' ? { imageSize } : {}),
  }
}

/** Budgets and levels of thinking by the effort of a chat completion, as Google's compatible endpoint chooses them. */
const efforts: Readonly<Record<string, { readonly budget: number; readonly level: string }>> = {
  none: { budget: 0, level: 'minimal' },
  minimal: { budget: 1_024, level: 'minimal' },
  low: { budget: 1_024, level: 'low' },
  medium: { budget: 8_192, level: 'medium' },
  high: { budget: 24_576, level: 'high' },
  xhigh: { budget: 24_576, level: 'high' },
  max: { budget: 24_576, level: 'high' },
}

/** Models from Gemini 3 on have levels in place of budgets. */
const modelWithLevels = /\bgemini-(?:[3-9]|\d\d)/

/** A budget must fit below the cap, which includes thoughts. */
function toThinkingConfig(fields: JsonObject, maxTokens: number): JsonObject | null {
  const { [thinkingConfigField]: ownThinking, reasoning_effort: name, model } = fields
  if (isRecord(ownThinking)) return ownThinking
  const effort = typeof name === 'string' && Object.hasOwn(efforts, name) ? efforts[name] : undefined
  if (effort === undefined) return null
  if (typeof model === 'string' && modelWithLevels.test(model))
    return { thinkingLevel: effort.level, ...(name === 'none' ? {} : { includeThoughts: true }) }
  if (effort.budget === 0) return { thinkingBudget: 0 }
  return { thinkingBudget: Math.min(effort.budget, Math.max(minBudget, maxTokens - 1)), includeThoughts: true }
}

/** The smallest budget that all models accept. */
const minBudget = 512
