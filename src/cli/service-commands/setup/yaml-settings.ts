/** YAML, through a document that keeps comments, order, quotes and anchors. */
import { parseAllDocuments, parseDocument } from 'yaml'
import type { Document } from 'yaml'
import { BrokenSettings, findLineEnd, isTable } from './settings-format.ts'
import type { Settings, SettingsFormat } from './settings-format.ts'

export const yamlSettings: SettingsFormat = {
  parse: (text) => toSettings(open(text)),
  change(text, changes) {
    const document = open(text)
    if (document.toJS() === null) document.contents = document.createNode({}) as unknown as Document['contents']
    for (const { path, value } of changes) {
      // A key without a value, as in `models:`, is null and would not be entered.
      const empty = path.findIndex((_, depth) => depth > 0 && document.getIn(path.slice(0, depth)) === null)
      if (empty !== -1) document.setIn(path.slice(0, empty), document.createNode({}))
      document.setIn(path, document.createNode(value))
    }
    const changed = document.toString({ lineWidth: 0, ...findIndentation(text) })
    return findLineEnd(text) === '\n' ? changed : changed.replaceAll('\n', '\r\n')
  },
}

function open(text: string): Document {
  const normalized = text.replaceAll('\r\n', '\n')
  if (parseAllDocuments(normalized).length > 1) throw new BrokenSettings('more than one document')
  const document = parseDocument(normalized)
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
