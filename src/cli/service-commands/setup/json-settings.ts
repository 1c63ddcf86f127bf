/** JSON with and without comments. Edits are made in the text, by the parser of Visual Studio Code. */
import { applyEdits, modify, parseTree, getNodeValue, printParseErrorCode } from 'jsonc-parser'
import type { ParseError } from 'jsonc-parser'
import { BrokenSettings, findLineEnd, findValue, isTable } from './settings-format.ts'
import type { SettingPath, Settings, SettingsFormat } from './settings-format.ts'

const byteOrderMark = '\uFEFF'

export const jsonSettings: SettingsFormat = {
  parse: (text) => parse(withoutMark(text)),
  change(text, changes) {
    const mark = text.startsWith(byteOrderMark) ? byteOrderMark : ''
    const eol = findLineEnd(text)
    // An empty object in a file of comments only would be written before them.
    let changedText = isEmpty(withoutMark(text)) ? `${withoutMark(text).trimEnd()}{}${eol}` : withoutMark(text)
    const formattingOptions = { ...findIndentation(text), eol }
    const setValue = (path: SettingPath, value: unknown) => {
      changedText = applyEdits(changedText, modify(changedText, [...path], value, { formattingOptions }))
    }
    for (const { path, value } of changes) {
      // The library does not replace a null by a table.
      const empty = path.findIndex((_, depth) => depth > 0 && findValue(parse(changedText), path.slice(0, depth)) === null)
      if (empty !== -1) setValue(path.slice(0, empty), {})
      setValue(path, value)
    }
    return mark + changedText
  },
}

function withoutMark(text: string): string {
  return text.startsWith(byteOrderMark) ? text.slice(1) : text
}

/** Programs that read JSON with comments accept a file without a value. */
function isEmpty(text: string): boolean {
  const errors: ParseError[] = []
  return parseTree(text, errors) === undefined && text.replaceAll(/\/\*[^]*?\*\/|\/\/[^\n]*/g, '').trim() === ''
}

function parse(text: string): Settings {
  const errors: ParseError[] = []
  const root = parseTree(text, errors, { allowTrailingComma: true })
  if (root === undefined && isEmpty(text)) return {}
  const [error] = errors
  if (error !== undefined || root === undefined)
    throw new BrokenSettings(
      error === undefined ? 'no value' : printParseErrorCode(error.error),
      error === undefined ? undefined : text.slice(0, error.offset).split('\n').length,
    )
  const value: unknown = getNodeValue(root)
  if (!isTable(value)) throw new BrokenSettings('not an object', 1)
  return value
}

/** That of the first indented line. */
function findIndentation(text: string): { readonly insertSpaces: boolean; readonly tabSize: number } {
  const indentation = /^([ \t]+)"/m.exec(text)?.[1] ?? '  '
  return { insertSpaces: !indentation.startsWith('\t'), tabSize: indentation.startsWith('\t') ? 1 : indentation.length }
}
