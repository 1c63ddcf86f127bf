/** Reads and changes the settings files of other programs without losing what else is in them: comments, order, layout. */
import { isDeepStrictEqual } from 'node:util'
import type { FileFormat } from '../../../setup/client-setup.ts'

/** Names of settings, and positions in lists. */
export type SettingPath = readonly (string | number)[]

/** One value to write. A position at the end of a list adds an item. */
export interface SettingChange {
  readonly path: SettingPath
  readonly value: unknown
}

export type Settings = Readonly<Record<string, unknown>>

export interface SettingsFormat {
  /** Throws `BrokenSettings` for a text that the program cannot read either. An empty text has no settings. */
  parse(text: string): Settings
  /** Returns the text with the changes; `wanted` is what it then has to contain. */
  change(text: string, changes: readonly SettingChange[], wanted: Settings): string
}

/** The text is no document of its format. */
export class BrokenSettings extends Error {
  /** From 1, where it is known. */
  readonly line: number | undefined

  constructor(message: string, line?: number) {
    super(message)
    this.name = 'BrokenSettings'
    this.line = line
  }
}

/** The libraries are loaded with the format that needs them. */
export async function loadSettingsFormat(format: FileFormat): Promise<SettingsFormat> {
  if (format === 'toml') return (await import('./toml-settings.ts')).tomlSettings
  if (format === 'yaml') return (await import('./yaml-settings.ts')).yamlSettings
  return (await import('./json-settings.ts')).jsonSettings
}

/** An object of the document, and not a date of it. */
export function isTable(value: unknown): value is Settings {
  if (typeof value !== 'object' || value === null) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}

export function findLineEnd(text: string): '\n' | '\r\n' {
  return text.includes('\r\n') ? '\r\n' : '\n'
}

/** The value at a path, or undefined. */
export function findValue(settings: unknown, path: SettingPath): unknown {
  return path.reduce<unknown>((at, name) => {
    if (typeof name === 'number') return Array.isArray(at) ? at[name] : undefined
    return isTable(at) && Object.hasOwn(at, name) ? at[name] : undefined
  }, settings)
}

/** A copy with another value at a path; tables on the way are created. */
export function withValue(settings: unknown, [name, ...rest]: SettingPath, value: unknown): unknown {
  if (name === undefined) return value
  if (typeof name === 'number') {
    const list: unknown[] = Array.isArray(settings) ? [...(settings as readonly unknown[])] : []
    list[name] = withValue(list[name], rest, value)
    return list
  }
  const table = isTable(settings) ? settings : {}
  return { ...table, [name]: withValue(table[name], rest, value) }
}

/** Whether two documents have the same values. Objects of the libraries and ours may have different prototypes. */
export function isSame(one: unknown, other: unknown): boolean {
  return isDeepStrictEqual(normalize(one), normalize(other))
}

function normalize(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(normalize)
  if (!isTable(value)) return value
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, normalize(inner)]))
}
