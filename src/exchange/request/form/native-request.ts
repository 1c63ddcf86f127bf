/**
 * A request in the API of its client. A target of the same API receives it as it was sent; plugins, bounds and targets of other APIs use the
 * chat request, which the same body was translated to.
 */
import type { TargetApi } from './request-form.ts'

export interface NativeRequest {
  readonly api: Exclude<TargetApi, 'chat'>
  /** Fields of the body that a target may receive. */
  readonly fields: Readonly<Record<string, unknown>>
  /** What depends on its conversation, for the rest of the body. */
  readonly facts?: Readonly<Record<string, boolean>>
  readonly extra: NativeExtra
}

/** What the chat request has no place for: it is counted, examined and hashed beside it. */
export interface NativeExtra {
  /** Of messages and tools, which models read. */
  readonly prompt: readonly unknown[]
  /** Of settings and names. */
  readonly settings: readonly unknown[]
}

const nativeKey = Symbol('native')

/** Not enumerable: a copy of a chat request, which a plugin has changed, has no native request, because the change would be lost. */
export function setNativeRequest(chat: object, native: NativeRequest): void {
  Object.defineProperty(chat, nativeKey, { value: native })
}

export function findNativeRequest(chat: object): NativeRequest | undefined {
  return (chat as { readonly [nativeKey]?: NativeRequest })[nativeKey]
}

export function findNativeExtra(chat: object): NativeExtra | undefined {
  return findNativeRequest(chat)?.extra
}

const refusedNames = toNameSet('file_id file_url file_ids fileId container container_id extra_body prompt_cache_breakpoint')

/** Collects the fields that a chat request has no place for. */
export class ExtraFields implements NativeExtra {
  readonly prompt: unknown[] = []
  readonly settings: unknown[] = []
  /** One of them buys something, or names what belongs to the operator's account: no target receives the request as it is. */
  hasRefused = false

  /** @param known names of the fields that the chat request has a place for */
  add(fields: Readonly<Record<string, unknown>>, known: ReadonlySet<string>, to: keyof NativeExtra = 'prompt'): void {
    for (const name in fields) {
      const value = fields[name]
      if (known.has(name) || isEmpty(value)) continue
      this[to].push({ [name]: value })
      this.hasRefused ||= refusedNames.has(name)
    }
  }
}

/** Asks for nothing, and has no text. */
export function isEmpty(value: unknown): boolean {
  return value === undefined || value === null || (Array.isArray(value) && value.length === 0)
}

/** The results without those that are undefined; null if one is null, or the value is no list of objects. */
export function mapObjects(
  list: unknown,
  map: (item: Readonly<Record<string, unknown>>) => Readonly<Record<string, unknown>> | null | undefined,
): readonly Readonly<Record<string, unknown>>[] | null {
  if (!Array.isArray(list)) return null
  const mappedObjects: Readonly<Record<string, unknown>>[] = []
  for (const item of list as unknown[]) {
    const result =
      typeof item === 'object' && item !== null && !Array.isArray(item) ? map(item as Readonly<Record<string, unknown>>) : null
    if (result === null) return null
    if (result !== undefined) mappedObjects.push(result)
  }
  return mappedObjects
}

export function toNameSet(words: string): ReadonlySet<string> {
  return new Set(words.split(' '))
}
