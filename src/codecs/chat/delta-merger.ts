/**
 * Merges the deltas of a stream as OpenAI's own clients do: strings are concatenated, lists appended (items with an `index` by that index),
 * objects merged by field, other values replaced. A null never replaces a value.
 */
import { isRecord } from '../../exchange/request/chat-request.ts'

type Fields = Record<string, unknown>

/** Identifiers and not text: some vendors repeat them in every chunk. */
const unmergedFields = new Set(['role', 'type', 'id', 'index', 'name', 'format'])
/** Whole in each delta that has one. */
const lastValueFields = new Set(['thought_signature'])

export class DeltaMerger {
  /** Of the lists that were merged before. Most answers have none, and V8 visits each such map in every collection. */
  #positions: WeakMap<readonly unknown[], ItemPositions> | undefined

  /** Changes `before`, which is a value of this class's own: copying it for each piece would take the square of its size. */
  merge(before: unknown, more: unknown): unknown {
    if (more === null || more === undefined) return before
    if (Array.isArray(more)) return this.#mergeItems(toList(before), more)
    if (before === null || before === undefined) return copyValue(more)
    if (typeof before === 'string' && typeof more === 'string') return before + more
    if (!isRecord(before) || !isRecord(more)) return copyValue(more)
    for (const [name, value] of Object.entries(more)) {
      if (name !== '__proto__') this.mergeField(before, name, value)
    }
    return before
  }

  /** Adds to one field of `fields`. It may have the name of something that every object has, such as `constructor`. */
  mergeField(fields: Fields, name: string, more: unknown): void {
    const before = Object.hasOwn(fields, name) ? fields[name] : undefined
    if (lastValueFields.has(name)) fields[name] = more || before
    else fields[name] = unmergedFields.has(name) ? before || more : this.merge(before, more)
  }

  #mergeItems(all: unknown[], more: readonly unknown[]): unknown[] {
    const lists = (this.#positions ??= new WeakMap())
    let positions = lists.get(all)
    if (positions === undefined) {
      positions = new ItemPositions()
      lists.set(all, positions)
      for (const [at, item] of all.entries()) if (isRecord(item)) positions.add(item, at)
    }
    for (const item of more) {
      const at = isRecord(item) && typeof item['index'] === 'number' ? positions.find(item) : undefined
      if (at !== undefined) {
        all[at] = this.merge(all[at], item)
        continue
      }
      if (isRecord(item)) positions.add(item, all.length)
      all.push(copyValue(item))
    }
    return all
  }
}

function toList(value: unknown): unknown[] {
  if (Array.isArray(value)) return value as unknown[]
  if (value === null || value === undefined) return []
  if (typeof value !== 'string') return [value]
  return value === '' ? [] : [{ type: 'text', text: value }]
}

/** A value that later merges may change; the chunk that it comes from stays as it is. */
export function copyValue(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(copyValue)
  if (!isRecord(value)) return value
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name]) => name !== '__proto__')
      .map(([name, part]) => [name, copyValue(part)]),
  )
}

/** Where the items with an index stand in a list: for each index the first, and the first of each type. */
class ItemPositions {
  readonly #byIndex = new Map<unknown, number>()
  readonly #byType = new Map<unknown, Map<unknown, number>>()

  /** The item that this one continues: one of the same index, and of the same type if this one has a type. */
  find({ index, type }: Fields): number | undefined {
    return type === undefined ? this.#byIndex.get(index) : this.#byType.get(index)?.get(type)
  }

  add({ index, type }: Fields, position: number): void {
    if (!this.#byIndex.has(index)) this.#byIndex.set(index, position)
    const types = this.#byType.get(index) ?? new Map<unknown, number>()
    if (!types.has(type)) this.#byType.set(index, types.set(type, position))
  }
}
