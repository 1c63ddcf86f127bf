/** Names of tools: a chat request has one flat list of functions, a Responses request has namespaces and other types. */
import { createHash } from 'node:crypto'

/** A tool as the client declared it. */
export interface DeclaredTool {
  readonly kind: 'function' | 'custom' | 'tool_search'
  readonly name: string
  readonly namespace?: string
}

/** Servers accept these characters, and 64 of them. */
const maxNameLength = 64

/** The name of the function that represents the tool. */
export function toFunctionName({ name, namespace }: Pick<DeclaredTool, 'name' | 'namespace'>): string {
  const full = namespace === undefined ? name : `${namespace}__${name}`
  const validName = full.replaceAll(/[^\w-]/g, '_')
  if (validName === full && full.length <= maxNameLength) return full
  const hash = createHash('sha256').update(full).digest('hex').slice(0, 8)
  return `${validName.slice(0, maxNameLength - hash.length - 1)}_${hash}`
}

/** The declared tools by the names of their functions. */
export type ToolMap = ReadonlyMap<string, DeclaredTool>

/**
 * Finds the tool that a model called. Models shorten `mcp__docs__search` to `search`, and some write `docs.search`: a name that only one tool can
 * mean is that tool. A name that no tool has is returned as a function, so that the client reports it to the model.
 */
export class CalledToolFinder {
  readonly #tools: ToolMap
  /** The only tool of each name in any namespace; null where several have it. Made when a name is first looked up. */
  #byName: Map<string, DeclaredTool | null> | undefined

  /** @param tools must not change after the first call of `findOnly` */
  constructor(tools: ToolMap) {
    this.#tools = tools
  }

  find(functionName: string): DeclaredTool {
    const exact = this.#tools.get(functionName) ?? this.#tools.get(functionName.replaceAll('.', '__'))
    return exact ?? this.findOnly(functionName) ?? { kind: 'function', name: functionName }
  }

  /** The only tool of this name in any namespace. */
  findOnly(name: string): DeclaredTool | undefined {
    if (this.#byName === undefined) {
      this.#byName = new Map()
      for (const tool of this.#tools.values()) this.#byName.set(tool.name, this.#byName.has(tool.name) ? null : tool)
    }
    return this.#byName.get(name) ?? undefined
  }
}
