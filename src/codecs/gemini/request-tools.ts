/** Tools and the choice of a tool. */
import { invalidRequest } from '../../errors.ts'
import { isFields, readObjects, readString } from './read-json.ts'
import type { Fields } from './read-json.ts'

/** None without tools. @throws GatewayError `invalid_request` for a tool that is no function */
export function toTools(tools: unknown): { readonly tools?: readonly Fields[] } {
  return Array.isArray(tools) && tools.length > 0 ? { tools: [{ functionDeclarations: tools.map(toDeclaration) }] } : {}
}

/** Null for the default of the API. */
export function toToolConfig(choice: unknown): Fields | null {
  const config = toCallingConfig(choice)
  return config === null ? null : { functionCallingConfig: config }
}

function toCallingConfig(choice: unknown): Fields | null {
  if (choice === 'none') return { mode: 'NONE' }
  if (choice === 'required') return { mode: 'ANY' }
  if (choice === 'auto') return { mode: 'AUTO' }
  if (!isFields(choice)) return null
  const { function: called, allowed_tools: allowed } = choice
  if (isFields(called)) return { mode: 'ANY', allowedFunctionNames: [called['name']] }
  if (!isFields(allowed)) return null
  const names = readObjects(allowed['tools']).flatMap(({ function: each }) => (isFields(each) ? readString(each['name']) : []))
  // `VALIDATED` leaves the choice to the model, as `AUTO` does, which has no list of names.
  return {
    mode: allowed['mode'] === 'required' ? 'ANY' : 'VALIDATED',
    ...(names.length === 0 ? {} : { allowedFunctionNames: names }),
  }
}

function toDeclaration(tool: unknown, i: number): Fields {
  const called = isFields(tool) ? tool['function'] : undefined
  if (!isFields(called)) {
    const param = `tools[${i}]`
    throw invalidRequest(
      {
        en: `'${param}' must be a function; this model has no custom tools.`,
        zh: `'${param}' 必须是函数；该模型不支持自定义工具。`,
      },
      param,
    )
  }
  const { name, description, parameters } = called
  const hasParameters =
    isFields(parameters) && (!isFields(parameters['properties']) || Object.keys(parameters['properties']).length > 0)
  return {
    name,
    ...(typeof description === 'string' && description !== '' ? { description } : {}),
    // A function without parameters has no schema: some models reject an empty one.
    ...(hasParameters ? { parametersJsonSchema: toSchema(parameters) } : {}),
  }
}

/** The schema must be one of an object. */
function toSchema(parameters: Fields): Fields {
  return parameters['type'] === undefined ? { type: 'object', ...parameters } : parameters
}
