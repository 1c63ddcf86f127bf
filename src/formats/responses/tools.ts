/** Translates tools: every tool that the client runs becomes a function; tools that the service would run are dropped. */
import type { JsonObject } from '../../exchange/api-format/api-format.ts'
import { hostedSearchFunction } from '../../exchange/hosted-search.ts'
import type { HostedSearchOptions } from '../../exchange/hosted-search.ts'
import type { CustomTool } from '../../exchange/request/responses-fields.ts'
import { invalidRequest } from '../../errors.ts'
import {
  invalidField,
  isAbsent,
  isObject,
  readOptionalBoolean,
  readOptionalObject,
  readOptionalText,
  requireList,
  requireObject,
  requireText,
} from '../shared/fields.ts'
import { hostedSearchTool, readDomains, readMaxUses } from '../shared/hosted-search.ts'
import { toFunctionName } from '../../codecs/shared/tool-names.ts'
import type { DeclaredTool } from '../../codecs/shared/tool-names.ts'

type ToolTranslator = (tools: ToolSet, tool: JsonObject, path: string, namespace?: string) => void

/** By `type`. All other types are run by the service that is called: they are dropped unless they are forced or alone. */
const translators: Readonly<Record<string, ToolTranslator>> = {
  function: addFunction,
  custom: addCustomTool,
  namespace: addNamespace,
  tool_search: addToolSearch,
}

/** Whether the client runs it. */
export function isClientTool({ type, execution }: JsonObject): boolean {
  return typeof type === 'string' && Object.hasOwn(translators, type) && !(type === 'tool_search' && execution === 'server')
}

const webSearchTool = /^web_search(?:_preview)?(?:_\d{4}_\d{2}_\d{2})?$/

/** A tool that the service would run. */
interface HostedTool {
  readonly type: string
  readonly path: string
  readonly tool: JsonObject
}

export class ToolSet {
  /** The tools of the chat request. */
  readonly functions: JsonObject[] = []
  readonly map = new Map<string, DeclaredTool>()
  /** The tools that are kept, as they were declared. */
  readonly declared: JsonObject[] = []
  /** The tools with free text among the functions, as they were declared. */
  readonly customTools: CustomTool[] = []
  /** Types and paths of the tools that are dropped. */
  readonly dropped: HostedTool[] = []
  /** Set if the service runs `web_search`. */
  search: HostedSearchOptions | undefined
  /** The type under which `web_search` was declared. */
  #searchType: string | undefined

  addList(list: unknown, path: string): void {
    if (isAbsent(list)) return
    for (const [i, tool] of requireList(list, path).entries()) this.#add(requireObject(tool, `${path}[${i}]`), `${path}[${i}]`)
  }

  /** The first of two tools of one name counts: Codex repeats tools that it found by search. */
  addFunction(tool: DeclaredTool, definition: JsonObject): void {
    const name = toFunctionName(tool)
    if (this.map.has(name)) return
    this.map.set(name, tool)
    this.functions.push({ type: 'function', function: { name, ...definition } })
  }

  /**
   * Lets the service run the declared web search. Call it after all tools were added, because a function of the client's may have its name.
   * @returns names of its fields that are ignored
   */
  hostSearch(maxToolCalls: unknown): readonly string[] {
    const at = this.dropped.findIndex(isLiveSearch)
    const { tool = {}, path = '', type = '' } = this.dropped[at] ?? {}
    if (at === -1 || this.map.has(hostedSearchFunction)) return []
    const filters = isAbsent(tool['filters']) ? {} : requireObject(tool['filters'], `${path}.filters`)
    this.search = {
      maxUses: readMaxUses(maxToolCalls, 'max_tool_calls'),
      allowedDomains: readDomains(filters['allowed_domains'], `${path}.filters.allowed_domains`),
      blockedDomains: readDomains(filters['blocked_domains'], `${path}.filters.blocked_domains`),
    }
    this.#searchType = type
    this.dropped.splice(at, 1)
    this.functions.push(hostedSearchTool)
    this.declared.push({ filters: null, user_location: null, search_context_size: 'medium', ...tool })
    return isAbsent(tool['user_location']) ? [] : [`tools.${type}.user_location`]
  }

  /** Whether an entry of this type names the web search that the service runs. */
  isHostedSearch(type: unknown): boolean {
    return this.#searchType !== undefined && typeof type === 'string' && webSearchTool.test(type)
  }

  #add(tool: JsonObject, path: string): void {
    const type = requireText(tool['type'], `${path}.type`)
    const translate = Object.hasOwn(translators, type) ? translators[type] : undefined
    if (translate === undefined) this.dropped.push({ type, path, tool })
    else {
      translate(this, tool, path)
      this.declared.push(type === 'function' ? { description: null, parameters: null, strict: null, ...tool } : tool)
    }
  }
}

function addFunction(tools: ToolSet, tool: JsonObject, path: string, namespace?: string): void {
  const name = requireText(tool['name'], `${path}.name`)
  const { parameters } = tool
  const strict = readOptionalBoolean(tool['strict'], `${path}.strict`)
  tools.addFunction(
    { kind: 'function', name, ...(namespace === undefined ? {} : { namespace }) },
    {
      ...readDescription(tool, path),
      parameters: isAbsent(parameters) ? { type: 'object', properties: {} } : requireObject(parameters, `${path}.parameters`),
      ...(strict === undefined ? {} : { strict }),
    },
  )
}

/** Free text. Few upstreams can bind a model to a grammar, so it is part of the description. */
function addCustomTool(tools: ToolSet, tool: JsonObject, path: string, namespace?: string): void {
  const name = requireText(tool['name'], `${path}.name`)
  const format = readOptionalObject(tool['format'], `${path}.format`)
  const [syntax, definition] = ['syntax', 'definition'].map((field) =>
    readOptionalText(format?.[field], `${path}.format.${field}`),
  )
  const declaredName = { name, ...(namespace === undefined ? {} : { namespace }) }
  tools.customTools.push({
    name: toFunctionName(declaredName),
    ...readDescription(tool, path),
    ...(format === undefined ? {} : { format }),
  })
  const description = [
    readOptionalText(tool['description'], `${path}.description`) ?? '',
    "Put the whole text into 'input', as it is and not as JSON.",
    ...(definition === undefined ? [] : [`It follows this ${syntax ?? 'lark'} grammar:\n${definition}`]),
  ]
  tools.addFunction(
    { kind: 'custom', ...declaredName },
    {
      description: description.filter((text) => text !== '').join('\n\n'),
      parameters: {
        type: 'object',
        properties: { input: { type: 'string' } },
        required: ['input'],
        additionalProperties: false,
      },
    },
  )
}

function addNamespace(tools: ToolSet, tool: JsonObject, path: string): void {
  const namespace = requireText(tool['name'], `${path}.name`)
  readOptionalText(tool['description'], `${path}.description`)
  for (const [i, child] of requireList(tool['tools'], `${path}.tools`).entries()) {
    const childPath = `${path}.tools[${i}]`
    const inner = requireObject(child, childPath)
    if (inner['type'] === 'custom') addCustomTool(tools, inner, childPath, namespace)
    else if (inner['type'] === 'function') addFunction(tools, inner, childPath, namespace)
    else tools.dropped.push({ type: requireText(inner['type'], `${childPath}.type`), path: childPath, tool: inner })
  }
}

/** Codex declares it without access to the web where its user has not turned that on; a search here always has it. */
function isLiveSearch({ type, tool }: HostedTool): boolean {
  return webSearchTool.test(type) && tool['external_web_access'] !== false
}

/** The client searches its own tools. */
function addToolSearch(tools: ToolSet, tool: JsonObject, path: string): void {
  if (tool['execution'] === 'server') {
    tools.dropped.push({ type: 'tool_search', path, tool })
    return
  }
  const { parameters } = tool
  tools.addFunction(
    { kind: 'tool_search', name: 'tool_search' },
    {
      description: readOptionalText(tool['description'], `${path}.description`) ?? 'Searches for further tools.',
      parameters: isObject(parameters)
        ? parameters
        : { type: 'object', properties: { query: { type: 'string' } }, required: ['query'] },
    },
  )
}

function readDescription(tool: JsonObject, path: string): JsonObject {
  const description = readOptionalText(tool['description'], `${path}.description`)
  return description === undefined ? {} : { description }
}

/** The fields of the chat request: the tools, which of them may be called, and how many at once. */
export function toToolFields(tools: ToolSet, { tool_choice: choice, parallel_tool_calls: isParallel }: JsonObject): JsonObject {
  const { functions, choice: toolChoice } = applyToolChoice(tools, choice)
  const [droppedTool] = tools.dropped
  if (functions.length === 0) {
    if (droppedTool !== undefined && choice !== 'none' && tools.functions.length === 0)
      throw hostedToolError(droppedTool.type, droppedTool.path)
    return {}
  }
  return {
    tools: functions,
    ...(toolChoice === undefined ? {} : { tool_choice: toolChoice }),
    ...(isAbsent(isParallel) ? {} : { parallel_tool_calls: isParallel }),
  }
}

interface ToolSelection {
  readonly functions: readonly JsonObject[]
  readonly choice: unknown
}

function applyToolChoice(tools: ToolSet, choice: unknown): ToolSelection {
  const { functions } = tools
  if (isAbsent(choice)) return { functions, choice: undefined }
  if (typeof choice === 'string') {
    if (!['none', 'auto', 'required'].includes(choice))
      throw invalidField(
        'tool_choice',
        "must be 'none', 'auto', 'required' or an object",
        "必须是 'none'、'auto'、'required' 或对象",
      )
    return { functions, choice }
  }
  const choiceObject = requireObject(choice, 'tool_choice')
  if (choiceObject['type'] !== 'allowed_tools') {
    const name = requireFunctionName(tools, choiceObject, 'tool_choice')
    return { functions, choice: { type: 'function', function: { name } } }
  }
  const droppedTypes = new Set<unknown>(tools.dropped.map(({ type }) => type))
  const namesOfChoice = requireList(choiceObject['tools'], 'tool_choice.tools').flatMap((tool, i) => {
    const path = `tool_choice.tools[${i}]`
    const entry = requireObject(tool, path)
    // A hosted tool is one of several that may be called: the others remain.
    return droppedTypes.has(entry['type']) ? [] : [requireFunctionName(tools, entry, path)]
  })
  const mode = choiceObject['mode'] === 'required' ? 'required' : 'auto'
  const allowedNames = new Set(namesOfChoice)
  return { functions: functions.filter((tool) => allowedNames.has(getFunctionName(tool))), choice: mode }
}

function requireFunctionName(tools: ToolSet, { type, name, namespace }: JsonObject, path: string): string {
  if (type === 'tool_search' && tools.map.has('tool_search')) return 'tool_search'
  if (tools.isHostedSearch(type)) return hostedSearchFunction
  if (type !== 'function' && type !== 'custom') throw hostedToolError(requireText(type, `${path}.type`), path)
  const tool = { name: requireText(name, `${path}.name`), ...(typeof namespace === 'string' ? { namespace } : {}) }
  const functionName = toFunctionName(tool)
  if (!tools.map.has(functionName))
    throw invalidField(`${path}.name`, `names a tool that 'tools' does not contain`, `指定的工具不在 'tools' 中`)
  return functionName
}

function getFunctionName(tool: JsonObject): string {
  const { function: functionTool } = tool
  return isObject(functionTool) ? String(functionTool['name']) : ''
}

function hostedToolError(type: string, path: string) {
  return invalidRequest(
    {
      en: `'${path}' requests the tool '${type.slice(0, 64)}', which this service does not run. Remove it, or use a function tool.`,
      zh: `'${path}' 请求的工具 '${type.slice(0, 64)}' 此处不提供，请去掉或改用函数工具。`,
    },
    path,
  )
}
