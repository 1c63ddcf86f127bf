/** TOML. The library changes values in place; a new table is written as a section at the end, as a person would. */
import { parse, patch, stringify, TomlFormat } from '@decimalturn/toml-patch'
import { BrokenSettings, findLineEnd, findValue, isSame, withValue } from './settings-format.ts'
import type { SettingChange, Settings, SettingsFormat } from './settings-format.ts'
import { parseJson } from '../../../system/parse-json.ts'

export const tomlSettings: SettingsFormat = {
  parse(text) {
    try {
      return parse(text) as Settings
    } catch (error) {
      const { message, line } = error as Error & { readonly line?: number }
      throw new BrokenSettings(message.split('\n').at(-1) ?? '', line)
    }
  },
  change(text, changes, wanted) {
    const current = parse(text) as Settings
    const sections = findNewSections(current, changes)
    if (sections.size > 0) {
      const rest = changes.filter(({ path }) => !sections.has(JSON.stringify(path.slice(0, -1))))
      const changedText = appendSections(patchValues(text, current, rest), sections)
      // A table that was written as an inline value cannot be continued by a section.
      if (hasValues(changedText, wanted)) return changedText
    }
    return patchValues(text, current, changes)
  },
}

function patchValues(text: string, current: Settings, changes: readonly SettingChange[]): string {
  if (changes.length === 0) return text
  const format = TomlFormat.autoDetectFormat(text)
  format.inlineTableStart = 8
  return patch(
    text,
    changes.reduce<unknown>((settings, { path, value }) => withValue(settings, path, value), current),
    format,
  )
}

/** Tables that do not exist yet, by their path as JSON. */
function findNewSections(current: Settings, changes: readonly SettingChange[]): Map<string, Record<string, unknown>> {
  const sections = new Map<string, Record<string, unknown>>()
  for (const { path, value } of changes) {
    const table = path.slice(0, -1)
    if (table.length === 0 || findValue(current, table) !== undefined) continue
    const key = JSON.stringify(table)
    sections.set(key, { ...sections.get(key), [String(path.at(-1))]: value })
  }
  return sections
}

function appendSections(text: string, sections: ReadonlyMap<string, Record<string, unknown>>): string {
  const addedSections = [...sections].map(([key, values]) => {
    const header = (parseJson(key) as string[]).map((name) => (/^[\w-]+$/.test(name) ? name : JSON.stringify(name))).join('.')
    return `[${header}]\n${stringify(values)}`
  })
  const end = findLineEnd(text)
  const before = text.trimEnd() === '' ? text : `${text.trimEnd()}${end}${end}`
  return before + addedSections.join('\n').replaceAll('\n', end)
}

function hasValues(text: string, wanted: Settings): boolean {
  try {
    return isSame(parse(text), wanted)
  } catch {
    return false
  }
}
