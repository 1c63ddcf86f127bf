/** What the demonstration upstream has to say to a request, before it is put into the form of a reply. */
import { fromSchema } from './from-schema.ts'
import { paintPng } from './png.ts'
import type { ChatRequest, Tool } from './request.ts'
import { lastUserText, textOf } from './request.ts'
import type { Script } from './script.ts'
import { toTokens } from './tokens.ts'
import { speak } from './words.ts'

export interface Answer {
  /** Text, or the arguments of the tool call, in the pieces they are streamed in. */
  readonly tokens: readonly string[]
  readonly finish: 'stop' | 'length' | 'tool_calls'
  readonly toolCall: { readonly name: string; readonly custom: boolean } | null
  /** `data:` URLs of PNG pictures. */
  readonly images: readonly string[]
  readonly search: { readonly citations: readonly string[]; readonly results: readonly object[] } | null
  readonly promptTokens: number
}

export const models = ['demo-light', 'demo-flagship', 'demo-search', 'demo-image', 'demo-bench', 'demo-bench-whole'] as const

export function answer(request: ChatRequest, script: Script): Answer {
  const said = say(request, script)
  const limit = request.max_completion_tokens ?? request.max_tokens ?? Number.POSITIVE_INFINITY
  const all = script.tokens === undefined ? toTokens(said.text) : filler(script.tokens)
  const tooLong = all.length > limit
  return {
    tokens: tooLong ? all.slice(0, limit) : all,
    finish: tooLong ? 'length' : said.toolCall === null ? 'stop' : 'tool_calls',
    toolCall: said.toolCall,
    images: said.images,
    search: said.search,
    promptTokens: countPrompt(request),
  }
}

interface Said extends Pick<Answer, 'toolCall' | 'images' | 'search'> {
  readonly text: string
}

function say(request: ChatRequest, script: Script): Said {
  const plain = { toolCall: null, images: [], search: null }
  const question = lastUserText(request).trim()
  if (script.text !== undefined) return { ...plain, text: script.text }

  const tool = toolToCall(request)
  if (tool?.function !== undefined) {
    const argumentsText = JSON.stringify(fromSchema(tool.function.parameters ?? {}, question.slice(0, 80)) ?? {})
    return { ...plain, text: argumentsText, toolCall: { name: tool.function.name, custom: false } }
  }
  if (tool?.custom !== undefined)
    return { ...plain, text: question.slice(0, 80), toolCall: { name: tool.custom.name, custom: true } }

  if (request.model === 'demo-search') return { ...plain, ...search(question) }
  if (request.model === 'demo-image') {
    const images = Array.from({ length: request.n ?? 1 }, (_, nth) => toDataUrl(paintPng(`${question} ${nth}`)))
    return { ...plain, text: speak('image', question), images }
  }

  const format = request.response_format
  if (format?.type === 'json_schema')
    return { ...plain, text: JSON.stringify(fromSchema(format.json_schema?.schema, question.slice(0, 80))) }
  const last = request.messages.at(-1)
  const text = last?.role === 'tool' ? speak('tool', textOf(last)) : speak('chat', question)
  if (format?.type === 'json_object') return { ...plain, text: JSON.stringify({ answer: text, demonstration: true }) }
  return { ...plain, text: untilStop(text, request.stop) }
}

/** The first tool, or the one that was named; none once a tool has answered, so that a conversation comes to its end. */
function toolToCall({ messages, tools, tool_choice: choice }: ChatRequest): Tool | undefined {
  if (choice === 'none' || messages.at(-1)?.role === 'tool') return undefined
  const wanted = typeof choice === 'object' && choice !== null ? JSON.stringify(choice) : null
  const named =
    wanted === null ? undefined : tools?.find((tool) => wanted.includes(JSON.stringify(tool.function?.name ?? tool.custom?.name)))
  return named ?? tools?.[0]
}

function search(question: string): Pick<Said, 'text' | 'search'> {
  const topic = question.slice(0, 60) || 'svc-gateway'
  const results = [1, 2, 3].map((nth) => ({
    title: `Demonstration result ${nth}: ${topic}`,
    url: `https://example.com/demonstration/${nth}?q=${encodeURIComponent(topic)}`,
    snippet: `A result made up for demonstration, number ${nth} of 3. No search engine was asked.`,
    date: `2026-0${nth}-01`,
    last_updated: `2026-0${nth}-15`,
    source: 'web',
  }))
  return { text: speak('search', topic), search: { citations: results.map(({ url }) => url), results } }
}

function countPrompt({ messages }: ChatRequest): number {
  let tokens = 3
  for (const message of messages) {
    const parts = Array.isArray(message.content) ? message.content.filter((part) => part.text === undefined).length : 0
    tokens += 4 + toTokens(textOf(message)).length + parts * 85
  }
  return tokens
}

function untilStop(text: string, stop: ChatRequest['stop']): string {
  const ends = [stop ?? []].flat().map((word) => (word === '' ? -1 : text.indexOf(word)))
  return text.slice(0, Math.min(text.length, ...ends.filter((at) => at >= 0)))
}

function filler(length: number): string[] {
  return Array.from({ length }, (_, nth) => (nth === 0 ? 'token' : ' token'))
}

function toDataUrl(png: Buffer): string {
  return `data:image/png;base64,${png.toString('base64')}`
}
