/** Tools and the choice of a tool. */
import { invalidRequest } from '../../../errors.ts'
import { isRecord } from '../../../exchange/request/chat-request.ts'
import { customToolsField } from '../../../exchange/request/responses-fields.ts'
import { toText } from '../../shared/read-json.ts'
import type { JsonObject as JsonFields } from '../../../exchange/api-format/api-format.ts'

/** The functions that are sent as tools with free text, by their names. */
export function readCustomTools({ [customToolsField]: list }: JsonFields): ReadonlyMap<string, JsonFields> {
  const tools = Array.isArray(list) ? (list as unknown[]).filter(isRecord) : []
  return new Map(tools.map((tool) => [toText(tool['name']), tool]))
}

/** None without tools. */
export function toTools(
  tools: unknown,
  customTools: ReadonlyMap<string, JsonFields>,
): { readonly tools?: readonly JsonFields[] } {
  return Array.isArray(tools) && tools.length > 0 ? { tools: tools.map((tool, i) => toTool(tool, i, customTools)) } : {}
}

/** The choice among the tools; there must be some. */
export function toToolFields(fields: JsonFields): JsonFields {
  const { tool_choice: choice, parallel_tool_calls: parallel } = fields
  const toolChoice = toToolChoice(choice, readCustomTools(fields))
  return {
    ...(toolChoice === null ? {} : { tool_choice: toolChoice }),
    ...(typeof parallel === 'boolean' ? { parallel_tool_calls: parallel } : {}),
  }
}

function toTool(tool: unknown, i: number, customTools: ReadonlyMap<string, JsonFields>): JsonFields {
  const { function: functionTool, custom } = isRecord(tool) ? tool : {}
  if (isRecord(custom)) return toCustomTool(custom)
  if (!isRecord(functionTool)) {
    const param = `tools[${i}]`
    throw invalidRequest({ en: `'${param}' must be a function.`, zh: `'${param}' 必须是函数。` }, param)
  }
  const { name, description, parameters, strict } = functionTool
  const asCustom = customTools.get(toText(name))
  if (asCustom !== undefined) return toCustomTool(asCustom)
  return {
    type: 'function',
    name,
    ...(typeof description === 'string' && description !== '' ? { description } : {}),
    parameters: isRecord(parameters) ? parameters : { type: 'object', properties: {} },
    // Here a function is strict by default; in a chat completion it is not.
    strict: strict === true,
  }
}

/** A chat completion has the definition of a grammar one level deeper. */
function toCustomTool({ name, description, format }: JsonFields): JsonFields {
  const { grammar, ...flat } = isRecord(format) ? format : {}
  return {
    type: 'custom',
    name,
    ...(typeof description === 'string' && description !== '' ? { description } : {}),
    ...(isRecord(format) ? { format: isRecord(grammar) ? { ...flat, ...grammar } : flat } : {}),
  }
}

function toToolChoice(choice: unknown, customTools: ReadonlyMap<string, JsonFields>): unknown {
  if (choice === 'none' || choice === 'auto' || choice === 'required') return choice
  if (!isRecord(choice)) return null
  const { allowed_tools: allowedTools } = choice
  if (!isRecord(allowedTools)) return toToolName(choice, customTools)
  const tools = Array.isArray(allowedTools['tools']) ? (allowedTools['tools'] as unknown[]) : []
  return {
    type: 'allowed_tools',
    mode: allowedTools['mode'] === 'required' ? 'required' : 'auto',
    tools: tools.flatMap((tool) => (isRecord(tool) ? (toToolName(tool, customTools) ?? []) : [])),
  }
}

function toToolName({ function: called, custom }: JsonFields, customTools: ReadonlyMap<string, JsonFields>): JsonFields | null {
  if (isRecord(custom)) return { type: 'custom', name: custom['name'] }
  if (!isRecord(called)) return null
  const { name } = called
  return { type: customTools.has(toText(name)) ? 'custom' : 'function', name }
}
