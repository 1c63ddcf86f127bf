/** YAML, through a document that keeps comments, order, quotes and anchors. Lines that do not change stay as they are. */
import { applyPatch, structuredPatch } from 'diff'
import { parseAllDocuments, parseDocument } from 'yaml'
import type { Document } from 'yaml'
import { BrokenSettings, findLineEnd, isTable } from './settings-format.ts'
import type { Settings, SettingsFormat } from './settings-format.ts'

export const yamlSettings: SettingsFormat = {
  parse: (text) => toSettings(open(text)),
  change(text, changes) {
    const style = { lineWidth: 0, ...findIndentation(text) }
    const normalizedText = text.replaceAll('\r\n', '\n')
    const before = open(text).toString(style)
    const document = open(text)
    const isEmpty = document.toJS() === null
    if (isEmpty) document.contents = document.createNode({}) as unknown as Document['contents']
    for (const { path, value } of changes) {
      // A key without a value, as in `models:`, is null and would not be entered.
      const empty = path.findIndex((_, depth) => depth > 0 && document.getIn(path.slice(0, depth)) === null)
      if (empty !== -1) document.setIn(path.slice(0, empty), document.createNode({}))
      document.setIn(path, document.createNode(value))
    }
    const after = document.toString(style)
    const changedText = isEmpty || before === normalizedText ? after : changeLines(normalizedText, before, after)
    // The caller compares the values, and refuses a text without the changes.
    if (changedText === null) return text
    return findLineEnd(text) === '\n' ? changedText : changedText.replaceAll('\n', '\r\n')
  },
}

/**
 * Applies the lines that differ between `before` and `after` to the original text, which the library would write with another layout. Null if
 * they have no place in it.
 */
function changeLines(original: string, before: string, after: string): string | null {
  const patch = structuredPatch('', '', before, after, undefined, undefined, { context: 1 })
  const isSameLine = (_: number, line: string | undefined, __: string, expected: string): boolean =>
    line !== undefined && removeLayout(line) === removeLayout(expected)
  const changedText = applyPatch(original, patch, { fuzzFactor: 1, compareLine: isSameLine })
  return changedText === false ? null : changedText
}

/** A line without spaces between its parts and quotes around them. */
function removeLayout(line: string): string {
  return line.replaceAll(/[\s'"]/g, '')
}

function open(text: string): Document {
  const normalizedText = text.replaceAll('\r\n', '\n')
  if (parseAllDocuments(normalizedText).length > 1) throw new BrokenSettings('more than one document')
  const document = parseDocument(normalizedText)
  const [error] = document.errors
  if (error !== undefined) throw new BrokenSettings(error.message.split('\n')[0] ?? '', error.linePos?.[0].line)
  return document
}

function toSettings(document: Document): Settings {
  const value: unknown = document.toJS()
  if (value === null) return {}
  if (!isTable(value)) throw new BrokenSettings('not a mapping', 1)
  return value
}

/** How far lists and mappings stand in. */
function findIndentation(text: string): { readonly indent: number; readonly indentSeq: boolean } {
  const indent = /^( +)[^\s#-]/m.exec(text)?.[1]?.length ?? 2
  return { indent: Math.min(Math.max(indent, 1), 8), indentSeq: !/^[^\s#].*:[ \t]*\n- /m.test(text.replaceAll('\r\n', '\n')) }
}
