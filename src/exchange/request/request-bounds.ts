/**
 * Bounds on what a request can have many of, checked before any work on it. Each is above what any client sends, and low enough that a body
 * within them costs the parser's thread what its size explains. `docs/security.md` lists them.
 */
import { invalidRequest } from '../../errors.ts'
import type { GatewayError } from '../../errors.ts'

/** Values of the whole body at any depth; a value takes memory of its own, however short its text is. */
const maxValues = 500_000
/** Fields of the body. */
const maxFields = 1_000
/** Messages, items of `input`, or `contents`. */
const maxItems = 20_000
/** Parts of all messages together: content parts, tool calls, blocks of results. */
const maxParts = 40_000
/** Tools, with those in namespaces and in `input`. */
const maxTools = 2_000
/** Entries of other lists that the translation reads. */
const maxEntries = 1_000
/** Characters of a tool's name; the formats allow 64 to 128. */
const maxToolNameLength = 512

const listFields = ['stop', 'stop_sequences', 'include'] as const

/**
 * Counts the values of a JSON text by the commas between them, before it is parsed.
 * @throws GatewayError `invalid_request`
 */
export function checkValueCount(raw: Buffer): void {
  // The shortest value has one character and a comma.
  if (raw.length <= 2 * maxValues) return
  let count = 1
  for (let i = 0; i < raw.length; i++) {
    const byte = raw[i]
    if (byte === quote) i = findStringEnd(raw, i + 1)
    else if (byte === comma && ++count > maxValues)
      throw invalidRequest({ en: `the body has more than ${maxValues} values.`, zh: `请求内容的值超过 ${maxValues} 个。` })
  }
}

/**
 * @param bytes of the body's JSON text
 * @throws GatewayError `invalid_request`, naming the field that has too much
 */
export function checkRequestBounds(body: Readonly<Record<string, unknown>>, bytes: number): void {
  // A body this short has room neither for a longer name nor for half as many fields, parts, tools or entries.
  if (bytes <= maxToolNameLength) return
  let fields = 0
  for (const _ in body) if (++fields > maxFields) throw tooMany(null, maxFields, { en: 'fields', zh: '个字段' })
  const counts: Counts = { parts: 0, tools: 0 }
  for (const field of ['messages', 'input', 'system', 'contents'] as const) checkItems(body[field], field, counts)
  for (const field of ['tools', 'functions'] as const) countTools(body[field], field, counts)
  const { tool_choice: choice } = body
  for (const holder of isRecord(choice) ? [choice, choice['allowed_tools']] : [])
    if (isRecord(holder)) checkLength(holder['tools'], 'tool_choice', maxTools)
  for (const field of listFields) checkLength(body[field], field, maxEntries)
}

interface Counts {
  parts: number
  tools: number
}

function checkItems(items: unknown, field: string, counts: Counts): void {
  if (!Array.isArray(items)) return
  checkLength(items, field, maxItems)
  for (const item of items as unknown[]) {
    if (!isRecord(item)) continue
    for (const name in item) {
      const list = item[name]
      if (!Array.isArray(list)) continue
      if (name === 'tools') countTools(list, field, counts)
      else countParts(list, field, counts)
    }
  }
}

/** The parts of an item, and the blocks of a tool's result among them. */
function countParts(parts: readonly unknown[], field: string, counts: Counts): void {
  counts.parts += parts.length
  for (const part of parts) {
    if (!isRecord(part)) continue
    const { content, source } = part
    for (const inner of [content, isRecord(source) ? source['content'] : undefined])
      if (Array.isArray(inner)) counts.parts += inner.length
  }
  if (counts.parts > maxParts) throw tooMany(field, maxParts, { en: 'parts', zh: '个部分' })
}

function countTools(tools: unknown, field: string, counts: Counts): void {
  if (!Array.isArray(tools)) return
  counts.tools += tools.length
  if (counts.tools > maxTools) throw tooMany(field, maxTools, { en: 'tools', zh: '个工具' })
  for (const tool of tools as unknown[]) {
    if (!isRecord(tool)) continue
    for (const { name } of [tool, tool['function'], tool['custom']].filter(isRecord))
      if (typeof name === 'string' && name.length > maxToolNameLength) throw nameTooLong(field)
    for (const name of ['tools', 'functionDeclarations', 'function_declarations']) countTools(tool[name], field, counts)
  }
}

function checkLength(list: unknown, field: string, max: number): void {
  if (Array.isArray(list) && list.length > max) throw tooMany(field, max, { en: 'entries', zh: '项' })
}

function tooMany(field: string | null, max: number, what: { readonly en: string; readonly zh: string }): GatewayError {
  return field === null
    ? invalidRequest({ en: `the body has more than ${max} ${what.en}.`, zh: `请求内容超过 ${max} ${what.zh}。` })
    : invalidRequest({ en: `'${field}' has more than ${max} ${what.en}.`, zh: `'${field}' 超过 ${max} ${what.zh}。` }, field)
}

function nameTooLong(field: string): GatewayError {
  return invalidRequest(
    {
      en: `'${field}' has a tool whose name is longer than ${maxToolNameLength} characters.`,
      zh: `'${field}' 中有工具的名称超过 ${maxToolNameLength} 个字符。`,
    },
    field,
  )
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

const quote = 0x22
const comma = 0x2c
const backslash = 0x5c
/** Below this a loop is faster than the call of `indexOf`. */
const scannedBytes = 64

/** Index of the closing quote of the string of JSON that begins here; the length without one. The runtime searches long strings at ten times the speed of a loop. */
export function findStringEnd(raw: Buffer, from: number): number {
  for (let i = from; ;) {
    for (const near = Math.min(raw.length, i + scannedBytes); i < near; i++) {
      if (raw[i] === quote) return i
      if (raw[i] === backslash) i++
    }
    const end = raw.indexOf(quote, i)
    if (end === -1) return raw.length
    let slashes = 0
    while (end - slashes > i && raw[end - slashes - 1] === backslash) slashes++
    if (slashes % 2 === 0) return end
    i = end + 1
  }
}
