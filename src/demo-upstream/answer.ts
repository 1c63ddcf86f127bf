/** Creates the demonstration upstream's answer to a request, before it is encoded. */
import { generateFromSchema } from './from-schema.ts'
import { paintPng } from './png.ts'
import type { ChatRequest, Tool } from './request.ts'
import { getLastUserText, getMessageText } from './request.ts'
import { toTokens } from './tokens.ts'
import { composeText } from './lorem.ts'

export interface DemoAnswer {
  /** The text, or the tool call's arguments, in the pieces in which they are streamed. */
  readonly tokens: readonly string[]
  readonly finish: 'stop' | 'length' | 'tool_calls'
  readonly toolCall: { readonly name: string; readonly custom: boolean } | null
  /** `data:` URLs of PNG images. */
  readonly images: readonly string[]
  readonly search: { readonly citations: readonly string[]; readonly results: readonly object[] } | null
  readonly promptTokens: number
}

export const demoModels = ['demo-light', 'demo-flagship', 'demo-search', 'demo-image'] as const

export function toModel(id: string): object {
  return { id, object: 'model', created: 1_767_225_600, owned_by: 'svc-gateway-demo' }
}

export function createAnswer(request: ChatRequest): DemoAnswer {
  const content = composeContent(request)
  return limitAnswer(request, content, toTokens(content.text))
}

/** Cuts the tokens of an answer at the cap that was requested, or at another one. */
export function limitAnswer(
  request: ChatRequest,
  { toolCall, images, search }: AnswerContent,
  tokens: readonly string[],
  cap = request.max_completion_tokens ?? request.max_tokens ?? Number.POSITIVE_INFINITY,
): DemoAnswer {
  const isTooLong = tokens.length > cap
  return {
    tokens: isTooLong ? tokens.slice(0, cap) : tokens,
    finish: isTooLong ? 'length' : toolCall === null ? 'stop' : 'tool_calls',
    toolCall,
    images,
    search,
    promptTokens: countPrompt(request),
  }
}

export interface AnswerContent extends Pick<DemoAnswer, 'toolCall' | 'images' | 'search'> {
  readonly text: string
}

export function composeContent(request: ChatRequest): AnswerContent {
  const plain = { toolCall: null, images: [], search: null }
  const question = getLastUserText(request).trim()

  const tool = selectTool(request)
  if (tool?.function !== undefined) {
    const argumentsText = JSON.stringify(generateFromSchema(tool.function.parameters ?? {}, question.slice(0, 80)) ?? {})
    return { ...plain, text: argumentsText, toolCall: { name: tool.function.name, custom: false } }
  }
  if (tool?.custom !== undefined)
    return { ...plain, text: question.slice(0, 80), toolCall: { name: tool.custom.name, custom: true } }

  if (request.model === 'demo-search') return { ...plain, ...composeSearch(question) }
  if (request.model === 'demo-image') {
    const images = Array.from({ length: request.n ?? 1 }, (_, index) => toDataUrl(paintPng(`${question} ${index}`)))
    return { ...plain, text: composeText('image', question), images }
  }

  const format = request.response_format
  if (format?.type === 'json_schema')
    return { ...plain, text: JSON.stringify(generateFromSchema(format.json_schema?.schema, question.slice(0, 80))) }
  const last = request.messages.at(-1)
  const text = last?.role === 'tool' ? composeText('tool', getMessageText(last)) : composeText('chat', question)
  if (format?.type === 'json_object') return { ...plain, text: JSON.stringify({ answer: text, demonstration: true }) }
  return { ...plain, text: cutAtStop(text, request.stop) }
}

/** The first tool, or the one that was named; none after a tool result, so that a conversation ends. */
function selectTool({ messages, tools, tool_choice: choice }: ChatRequest): Tool | undefined {
  if (choice === 'none' || messages.at(-1)?.role === 'tool') return undefined
  const choiceText = typeof choice === 'object' && choice !== null ? JSON.stringify(choice) : null
  const namedTool =
    choiceText === null
      ? undefined
      : tools?.find((tool) => choiceText.includes(JSON.stringify(tool.function?.name ?? tool.custom?.name)))
  return namedTool ?? tools?.[0]
}

function composeSearch(question: string): Pick<AnswerContent, 'text' | 'search'> {
  const topic = question.slice(0, 60) || 'svc-gateway'
  const results = [1, 2, 3].map((index) => ({
    title: `Demonstration result ${index}: ${topic}`,
    url: `https://example.com/demonstration/${index}?q=${encodeURIComponent(topic)}`,
    snippet: `A result made up for demonstration, number ${index} of 3. No search engine was asked.`,
    date: `2026-0${index}-01`,
    last_updated: `2026-0${index}-15`,
    source: 'web',
  }))
  return { text: composeText('search', topic), search: { citations: results.map(({ url }) => url), results } }
}

function countPrompt({ messages }: ChatRequest): number {
  let tokens = 3
  for (const message of messages) {
    const parts = Array.isArray(message.content) ? message.content.filter((part) => part.text === undefined).length : 0
    tokens += 4 + toTokens(getMessageText(message)).length + parts * 85
  }
  return tokens
}

function cutAtStop(text: string, stop: ChatRequest['stop']): string {
  const ends = [stop ?? []].flat().map((word) => (word === '' ? -1 : text.indexOf(word)))
  return text.slice(0, Math.min(text.length, ...ends.filter((at) => at >= 0)))
}

function toDataUrl(png: Buffer): string {
  return `data:image/png;base64,${png.toString('base64')}`
}
