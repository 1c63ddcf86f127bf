/** Tools and the choice of a tool. */
import { invalidRequest } from '../../errors.ts'
import type { GatewayError } from '../../errors.ts'
import type { JsonObject } from '../../exchange/api-format/api-format.ts'
import { toFunctionName } from '../../codecs/shared/tool-names.ts'
import type { HostedSearchOptions } from '../../exchange/hosted-search.ts'
import { hostedSearchFunction } from '../../exchange/hosted-search.ts'
import { hostedSearchTool, readDomains, readMaxUses } from '../shared/hosted-search.ts'
import {
  invalidField,
  isAbsent,
  isObject,
  readOptionalBoolean,
  readOptionalText,
  requireList,
  requireObject,
  requireText,
} from '../shared/fields.ts'

/** Names of declared tools as a chat completion accepts them, and the way back. */
export class ToolNames {
  readonly #originals = new Map<string, string>()

  shorten(name: string): string {
    const validName = toFunctionName({ name })
    if (validName !== name) this.#originals.set(validName, name)
    return validName
  }

  originals(): ReadonlyMap<string, string> {
    return this.#originals
  }
}

/** Tools that Anthropic's servers run. The model can do without them. */
const hostedTool = /^(?:web_search|web_fetch|code_execution|tool_search_tool\w*|advisor|memory_search)_\d{8}$/

export function isHostedTool(tool: unknown): boolean {
  return isObject(tool) && typeof tool['type'] === 'string' && hostedTool.test(tool['type'])
}

const webSearchTool = /^web_search_\d{8}$/

interface HostedTool {
  readonly type: string
  readonly name: unknown
}

interface TranslatedTools {
  readonly tools: readonly JsonObject[]
  readonly names: ToolNames
  /** Those that are left out, because clients offer them with every request. */
  readonly hosted: readonly HostedTool[]
  /** Set if the service runs the tool `web_search`. */
  readonly search: HostedSearchOptions | undefined
  /** Names of fields of hosted tools that are ignored. */
  readonly ignored: readonly string[]
}

/** @throws GatewayError for a tool that the gateway cannot run, if it is the only one or its schema is known to Anthropic's models alone */
export function translateTools(value: unknown, { hostsSearch = false } = {}): TranslatedTools {
  const names = new ToolNames()
  const tools: JsonObject[] = []
  const hostedTools: HostedTool[] = []
  const searches: { readonly tool: JsonObject; readonly path: string }[] = []
  for (const [i, item] of (isAbsent(value) ? [] : requireList(value, 'tools')).entries()) {
    const path = `tools[${i}]`
    const tool = requireObject(item, path)
    const { type, name } = tool
    if (hostsSearch && typeof type === 'string' && webSearchTool.test(type)) searches.push({ tool, path })
    else if (isHostedTool(tool)) hostedTools.push({ type: String(type), name })
    else if (isAbsent(type) || type === 'custom') tools.push(translateTool(tool, path, names))
    else throw unsupportedTool(`${path}.type`)
  }
  const [search] = searches
  // A tool of the client's own has this name.
  const isNameTaken = tools.some((tool) => isFunction(tool, hostedSearchFunction))
  if (search !== undefined && isNameTaken) hostedTools.push({ type: String(search.tool['type']), name: null })
  const options = search === undefined || isNameTaken ? undefined : readSearchOptions(search.tool, search.path)
  if (options !== undefined) tools.push(hostedSearchTool)
  if (hostedTools.length > 0 && tools.length === 0) throw unsupportedTool('tools[0].type')
  const ignoredFields = options === undefined ? [] : listIgnoredFields(search?.tool ?? {})
  return { tools, names, hosted: hostedTools, search: options, ignored: ignoredFields }
}

function readSearchOptions(tool: JsonObject, path: string): HostedSearchOptions {
  const allowedDomains = readDomains(tool['allowed_domains'], `${path}.allowed_domains`)
  const blockedDomains = readDomains(tool['blocked_domains'], `${path}.blocked_domains`)
  if (allowedDomains.length > 0 && blockedDomains.length > 0)
    throw invalidField(
      `${path}.blocked_domains`,
      "cannot be combined with 'allowed_domains'",
      "不能与 'allowed_domains' 同时使用",
    )
  return { maxUses: readMaxUses(tool['max_uses'], `${path}.max_uses`), allowedDomains, blockedDomains }
}

/** A search does not depend on the place of its user. */
function listIgnoredFields({ type, user_location: location }: JsonObject): readonly string[] {
  return isAbsent(location) ? [] : [`tools.${String(type)}.user_location`]
}

function unsupportedTool(path: string): GatewayError {
  return invalidRequest(
    {
      en: `'${path}' names a tool that this service does not run. Send tools with an 'input_schema' of your own.`,
      zh: `'${path}' 指定的工具此处不提供，请使用自带 'input_schema' 的工具。`,
    },
    path,
  )
}

function translateTool(tool: JsonObject, path: string, names: ToolNames): JsonObject {
  const name = names.shorten(requireText(tool['name'], `${path}.name`))
  const { input_schema: schema } = tool
  const description = readOptionalText(tool['description'], `${path}.description`)
  const strict = readOptionalBoolean(tool['strict'], `${path}.strict`)
  return {
    type: 'function',
    function: {
      name,
      ...(description === undefined ? {} : { description }),
      parameters: isAbsent(schema) ? { type: 'object', properties: {} } : requireObject(schema, `${path}.input_schema`),
      ...(strict === undefined ? {} : { strict }),
    },
    ...(isObject(tool['cache_control']) ? { cache_control: tool['cache_control'] } : {}),
  }
}

/** Without tools there is nothing to choose from, and upstreams reject a choice. */
export function translateToolChoice(
  value: unknown,
  { tools, names, hosted }: Pick<TranslatedTools, 'tools' | 'names' | 'hosted'>,
): JsonObject {
  if (isAbsent(value)) return {}
  const choice = requireObject(value, 'tool_choice')
  const { type } = choice
  if (type === 'tool') {
    const name = requireText(choice['name'], 'tool_choice.name')
    if (hosted.some((tool) => tool.name === name)) throw unsupportedTool('tool_choice.name')
    const functionName = names.shorten(name)
    if (!tools.some((tool) => isFunction(tool, functionName)))
      throw invalidField('tool_choice.name', 'must be the name of one of the tools', '必须是某个工具的名称')
    return { tool_choice: { type: 'function', function: { name: functionName } }, ...toParallelField(choice) }
  }
  const mode = typeof type === 'string' && Object.hasOwn(choiceModes, type) ? choiceModes[type] : undefined
  if (mode === undefined)
    throw invalidField('tool_choice.type', "must be 'auto', 'any', 'tool' or 'none'", "必须是 'auto'、'any'、'tool' 或 'none'")
  return tools.length === 0 ? {} : { tool_choice: mode, ...toParallelField(choice) }
}

const choiceModes: Readonly<Record<string, string>> = { auto: 'auto', any: 'required', none: 'none' }

function isFunction({ function: inner }: JsonObject, name: string): boolean {
  return typeof inner === 'object' && inner !== null && 'name' in inner && inner.name === name
}

function toParallelField({ disable_parallel_tool_use: isDisabled }: JsonObject): JsonObject {
  return readOptionalBoolean(isDisabled, 'tool_choice.disable_parallel_tool_use') === true ? { parallel_tool_calls: false } : {}
}
