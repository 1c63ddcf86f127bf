/** Tools and the choice of a tool. */
import { invalidRequest } from '../../../errors.ts'
import { isRecord } from '../../../exchange/request/chat-request.ts'
import type { JsonObject as JsonFields } from '../../../exchange/api-format/api-format.ts'
import { toCacheControl } from '../../../exchange/request/form/cache-marks.ts'

interface ToolChoice {
  readonly type: 'auto' | 'any' | 'tool' | 'none'
  readonly name?: unknown
  readonly disable_parallel_tool_use?: boolean
}

/** None without tools. */
export function toTools(tools: unknown): { readonly tools?: readonly JsonFields[] } {
  return Array.isArray(tools) && tools.length > 0 ? { tools: tools.map(toTool) } : {}
}

/** Null for the default of the API. */
export function toToolChoice({ tool_choice: choice, parallel_tool_calls: parallel }: JsonFields): ToolChoice | null {
  const toolChoice = readToolChoice(choice)
  if (parallel !== false || toolChoice?.type === 'none') return toolChoice
  return { ...(toolChoice ?? { type: 'auto' }), disable_parallel_tool_use: true }
}

function toTool(tool: unknown, i: number): JsonFields {
  const functionTool = isRecord(tool) ? tool['function'] : undefined
  if (!isRecord(tool) || !isRecord(functionTool)) {
    const param = `tools[${i}]`
    throw invalidRequest(
      {
        en: `'${param}' must be a function; this model has no custom tools.`,
        zh: `'${param}' 必须是函数；该模型不支持自定义工具。`,
      },
      param,
    )
  }
  const { name, description, parameters, strict } = functionTool
  const cacheControl = toCacheControl(tool['cache_control'] ?? functionTool['cache_control'])
  return {
    name,
    ...(typeof description === 'string' && description !== '' ? { description } : {}),
    input_schema: toSchema(parameters),
    ...(strict === true ? { strict } : {}),
    ...(cacheControl === null ? {} : { cache_control: cacheControl }),
  }
}

/** The schema must be one of an object. */
function toSchema(parameters: unknown): JsonFields {
  if (!isRecord(parameters)) return { type: 'object', properties: {} }
  return parameters['type'] === undefined ? { type: 'object', ...parameters } : parameters
}

function readToolChoice(choice: unknown): ToolChoice | null {
  if (choice === 'none') return { type: 'none' }
  if (choice === 'required') return { type: 'any' }
  if (choice === 'auto') return { type: 'auto' }
  const functionChoice = isRecord(choice) ? choice['function'] : undefined
  if (isRecord(functionChoice) && typeof functionChoice['name'] === 'string')
    return { type: 'tool', name: functionChoice['name'] }
  const allowedTools = isRecord(choice) ? choice['allowed_tools'] : undefined
  return isRecord(allowedTools) ? { type: allowedTools['mode'] === 'required' ? 'any' : 'auto' } : null
}
