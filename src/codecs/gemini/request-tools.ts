/** Tools and the choice of a tool. */
import { isRecord } from '../../exchange/request/chat-request.ts'
import type { JsonObject } from '../../exchange/api-format/api-format.ts'
import { readObjects, toText } from '../shared/read-json.ts'
import { invalidRequest } from '../../errors.ts'

/** None without tools. @throws GatewayError `invalid_request` for a tool that is no function */
export function toTools(tools: unknown): { readonly tools?: readonly JsonObject[] } {
  return Array.isArray(tools) && tools.length > 0 ? { tools: [{ functionDeclarations: tools.map(toDeclaration) }] } : {}
}

/** Null for the default of the API. */
export function toToolConfig(choice: unknown): JsonObject | null {
  const config = toCallingConfig(choice)
  return config === null ? null : { functionCallingConfig: config }
}

function toCallingConfig(choice: unknown): JsonObject | null {
  if (choice === 'none') return { mode: 'NONE' }
  if (choice === 'required') return { mode: 'ANY' }
  if (choice === 'auto') return { mode: 'AUTO' }
  if (!isRecord(choice)) return null
  const { function: functionChoice, allowed_tools: allowedTools } = choice
  if (isRecord(functionChoice)) return { mode: 'ANY', allowedFunctionNames: [functionChoice['name']] }
  if (!isRecord(allowedTools)) return null
  const names = readObjects(allowedTools['tools']).flatMap(({ function: each }) => (isRecord(each) ? toText(each['name']) : []))
  // `VALIDATED` leaves the choice to the model, as `AUTO` does, which has no list of names.
  return {
    mode: allowedTools['mode'] === 'required' ? 'ANY' : 'VALIDATED',
    ...(names.length === 0 ? {} : { allowedFunctionNames: names }),
  }
}

function toDeclaration(tool: unknown, i: number): JsonObject {
  const functionTool = isRecord(tool) ? tool['function'] : undefined
  if (!isRecord(functionTool)) {
    const param = `tools[${i}]`
    throw invalidRequest(
      {
        en: `'${param}' must be a function; this model has no custom tools.`,
        zh: `'${param}' 必须是函数；该模型不支持自定义工具。`,
      },
      param,
    )
  }
  const { name, description, parameters } = functionTool
  const hasParameters =
    isRecord(parameters) && (!isRecord(parameters['properties']) || Object.keys(parameters['properties']).length > 0)
  return {
    name,
    ...(typeof description === 'string' && description !== '' ? { description } : {}),
    // A function without parameters has no schema: some models reject an empty one.
    ...(hasParameters ? { parametersJsonSchema: toSchema(parameters) } : {}),
  }
}

/** The schema must be one of an object. */
function toSchema(parameters: JsonObject): JsonObject {
  return parameters['type'] === undefined ? { type: 'object', ...parameters } : parameters
}
