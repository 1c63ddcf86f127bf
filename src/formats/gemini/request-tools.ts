/** Tools and the choice of a tool. */
import { invalidRequest } from '../../errors.ts'
import type { GatewayError } from '../../errors.ts'
import type { JsonObject } from '../../exchange/api-format/api-format.ts'
import { hostedSearchFunction, maxHostedSearches } from '../../exchange/hosted-search.ts'
import type { HostedSearchOptions } from '../../exchange/hosted-search.ts'
import { hostedSearchTool } from '../shared/hosted-search.ts'
import { invalidField, isAbsent, isObject, readOptionalText, requireList, requireObject, requireText } from '../shared/fields.ts'
import { toFunctionName } from '../../codecs/shared/tool-names.ts'
import { toJsonSchema } from './open-api-schema.ts'

interface TranslatedTools {
  readonly tools: readonly JsonObject[]
  /** Original names of functions whose names a chat completion has no place for. */
  readonly originalNames: ReadonlyMap<string, string>
  readonly search: HostedSearchOptions | undefined
  readonly ignored: readonly string[]
}

/** @throws GatewayError for tools that Google's servers run, if there is no other one */
export function translateTools(value: unknown, { hostsSearch = false } = {}): TranslatedTools {
  const functions: JsonObject[] = []
  const originalNames = new Map<string, string>()
  const hostedTools = new Set<string>()
  let wantsSearch = false
  for (const [i, item] of (isAbsent(value) ? [] : requireList(value, 'tools')).entries()) {
    const { functionDeclarations: declarations, ...others } = requireObject(item, `tools[${i}]`)
    if (!isAbsent(declarations))
      for (const [j, each] of requireList(declarations, `tools[${i}].functionDeclarations`).entries())
        functions.push(translateFunction(each, `tools[${i}].functionDeclarations[${j}]`, originalNames))
    for (const [name, settings] of Object.entries(others)) {
      if (isAbsent(settings)) continue
      if (hostsSearch && name === 'googleSearch') wantsSearch = true
      else hostedTools.add(name)
    }
  }
  // A function of the client's own has this name.
  const isNameTaken = functions.some(({ function: each }) => isObject(each) && each['name'] === hostedSearchFunction)
  if (wantsSearch && isNameTaken) hostedTools.add('googleSearch')
  const search = wantsSearch && !isNameTaken ? { maxUses: maxHostedSearches, allowedDomains: [], blockedDomains: [] } : undefined
  const tools = search === undefined ? functions : [...functions, hostedSearchTool]
  const [first] = hostedTools
  if (first !== undefined && tools.length === 0) throw unsupportedTool(`tools[0].${first}`)
  return { tools, originalNames, search, ignored: [...hostedTools].map((name) => `tools.${name}`) }
}

function translateFunction(value: unknown, path: string, originalNames: Map<string, string>): JsonObject {
  const declaration = requireObject(value, path)
  const sentName = requireText(declaration['name'], `${path}.name`)
  const name = toFunctionName({ name: sentName })
  if (name !== sentName) originalNames.set(name, sentName)
  const description = readOptionalText(declaration['description'], `${path}.description`)
  return {
    type: 'function',
    function: {
      name,
      ...(description === undefined ? {} : { description }),
      parameters: readSchema(declaration, path) ?? { type: 'object', properties: {} },
    },
  }
}

function readSchema({ parametersJsonSchema: schema, parameters }: JsonObject, path: string): JsonObject | undefined {
  if (!isAbsent(schema)) return requireObject(schema, `${path}.parametersJsonSchema`)
  return isAbsent(parameters) ? undefined : toJsonSchema(requireObject(parameters, `${path}.parameters`))
}

/** Without tools there is nothing to choose from. A list of allowed functions leaves out the others. */
export function translateToolChoice(toolConfig: unknown, tools: readonly JsonObject[]): JsonObject {
  const config = isAbsent(toolConfig) ? undefined : requireObject(toolConfig, 'toolConfig')['functionCallingConfig']
  if (isAbsent(config)) return tools.length === 0 ? {} : { tools }
  const { mode, allowedFunctionNames: allowedNames } = requireObject(config, 'toolConfig.functionCallingConfig')
  const choice = typeof mode === 'string' && Object.hasOwn(choices, mode.toUpperCase()) ? choices[mode.toUpperCase()] : undefined
  if (!isAbsent(mode) && choice === undefined)
    throw invalidField(
      'toolConfig.functionCallingConfig.mode',
      "must be 'AUTO', 'ANY', 'VALIDATED' or 'NONE'",
      "必须是 'AUTO'、'ANY'、'VALIDATED' 或 'NONE'",
    )
  if (tools.length === 0) return {}
  const names = new Set(
    isAbsent(allowedNames)
      ? []
      : requireList(allowedNames, 'toolConfig.functionCallingConfig.allowedFunctionNames').map((name) =>
          toFunctionName({ name: String(name) }),
        ),
  )
  const remainingTools = tools.filter(
    ({ function: each }) => names.size === 0 || (isObject(each) && names.has(String(each['name']))),
  )
  return { tools: remainingTools.length === 0 ? tools : remainingTools, ...(choice === undefined ? {} : { tool_choice: choice }) }
}

const choices: Readonly<Record<string, string>> = {
  AUTO: 'auto',
  VALIDATED: 'auto',
  ANY: 'required',
  NONE: 'none',
  MODE_UNSPECIFIED: 'auto',
}

function unsupportedTool(path: string): GatewayError {
  return invalidRequest(
    {
      en: `'${path}' names a tool that this service does not run. Send 'functionDeclarations' of your own.`,
      zh: `'${path}' 指定的工具此处不提供，请使用自带的 'functionDeclarations'。`,
    },
    path,
  )
}
