/** Merges the settings of a client into the member's own file. */
import type { SetupFile } from '../../../setup/client-setup.ts'
import { CommandFailure } from '../../failure.ts'
import { BrokenSettings, findValue, isSame, isTable, loadSettingsFormat, withValue } from './settings-format.ts'
import type { SettingChange, SettingPath, Settings, SettingsFormat } from './settings-format.ts'

/**
 * Returns the text with the settings of `file` in it, or the same text where it has them. Throws `settings_broken` for a text that is no
 * document, `settings_conflict` where something else stands in the place of a table, and `settings_unmergeable` if the result would not
 * contain exactly what it should.
 */
export async function mergeSettings(file: SetupFile, text: string | undefined, path: string): Promise<string> {
  if (text === undefined || text.trim() === '') return file.text
  const format = await loadSettingsFormat(file.format)
  const current = parse(format, text, path)
  const changes = findChanges(file, format.parse(file.text), current, path)
  if (changes.length === 0) return text
  const expectedSettings = changes.reduce<unknown>(
    (settings, change) => withValue(settings, change.path, change.value),
    current,
  ) as Settings
  const changedText = format.change(text, changes, expectedSettings)
  if (!contains(format, changedText, expectedSettings)) {
    throw new CommandFailure(
      'settings_unmergeable',
      { en: `${path} cannot be changed safely; nothing was written.`, zh: `无法安全地修改 ${path}；未写入任何内容。` },
      { hints: [{ en: 'enter the settings by hand', zh: '请手动填写这些设置' }] },
    )
  }
  return changedText
}

/** The value at a path of a file, or undefined; also for a file that cannot be read. */
export async function findSetting(file: SetupFile, text: string, path: readonly string[]): Promise<unknown> {
  const format = await loadSettingsFormat(file.format)
  try {
    return findValue(format.parse(text), path)
  } catch {
    return undefined
  }
}

function parse(format: SettingsFormat, text: string, path: string): Settings {
  try {
    return format.parse(text)
  } catch (error) {
    if (!(error instanceof BrokenSettings)) throw error
    const place = error.line === undefined ? path : `${path}:${error.line}`
    throw new CommandFailure(
      'settings_broken',
      {
        en: `${place} cannot be read: ${error.message}. Nothing was written.`,
        zh: `无法解析 ${place}：${error.message}。未写入任何内容。`,
      },
      {
        hints: [{ en: 'correct it, or move it away', zh: '请修正或移走该文件' }],
        details: { path, line: error.line ?? null },
        cause: error,
      },
    )
  }
}

/** The values that differ: leaves of the wanted settings, except those that the member may choose. */
function findChanges(file: SetupFile, wanted: Settings, current: Settings, path: string): readonly SettingChange[] {
  return listLeaves(wanted).flatMap(({ path: at, value }): readonly SettingChange[] => {
    requireTables(current, at, path)
    const currentValue = findValue(current, at)
    const choice = file.unlessSet?.find((each) => isSame(each.path, at))
    if (choice !== undefined && currentValue !== undefined && currentValue !== null) return []
    const key = file.listKeys?.[at.join('.')]
    if (key !== undefined && Array.isArray(value) && Array.isArray(currentValue))
      return findListChanges(at, currentValue, value, key)
    return isSame(currentValue, value) ? [] : [{ path: at, value }]
  })
}

function listLeaves(value: Settings, path: SettingPath = []): readonly SettingChange[] {
  return Object.entries(value).flatMap(([name, inner]) =>
    isTable(inner) ? listLeaves(inner, [...path, name]) : [{ path: [...path, name], value: inner }],
  )
}

/** Changes items with the same key in their place, and adds the others at the end. */
function findListChanges(
  at: SettingPath,
  found: readonly unknown[],
  wanted: readonly unknown[],
  key: string,
): readonly SettingChange[] {
  let end = found.length
  return wanted.flatMap((item): readonly SettingChange[] => {
    if (!isTable(item)) return []
    const index = found.findIndex((each) => isTable(each) && each[key] === item[key])
    if (index === -1) return [{ path: [...at, end++], value: item }]
    return listLeaves(item, [...at, index]).filter((leaf) => !isSame(findValue(found, leaf.path.slice(at.length)), leaf.value))
  })
}

function requireTables(current: Settings, at: SettingPath, path: string): void {
  for (const depth of at.keys()) {
    if (depth === 0) continue
    const currentTable = findValue(current, at.slice(0, depth))
    if (currentTable === undefined || currentTable === null || isTable(currentTable)) continue
    const name = at.slice(0, depth).join('.')
    throw new CommandFailure(
      'settings_conflict',
      {
        en: `${name} in ${path} has a value where a table of settings belongs; nothing was written.`,
        zh: `${path} 中的 ${name} 应为一组设置，而不是一个值；未写入任何内容。`,
      },
      {
        hints: [{ en: 'remove that value, or enter the settings by hand', zh: '请删除该值，或手动填写设置' }],
        details: { path, setting: name },
      },
    )
  }
}

function contains(format: SettingsFormat, text: string, wanted: Settings): boolean {
  try {
    return isSame(format.parse(text), wanted)
  } catch {
    return false
  }
}
