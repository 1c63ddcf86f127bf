/** The answers of the search product: how a chat tells one from an ordinary answer, and how it is read by people. */
import type { SearchDocument } from '../../api/search-document.ts'
import type { Context } from '../context.ts'
import { renderMarkdown } from '../markdown.ts'
import { isRecord } from '../record.ts'
import { terminalLine, terminalText } from '../terminal-text.ts'
import type { Told } from './client.ts'

/** What a chat with the search product begins with; an ordinary answer hardly does. */
export const documentStart = '{"schema":'

/** The document in an answer's text, where it is one. */
export function searchDocument(text: string): Told<SearchDocument> | undefined {
  if (!text.startsWith(documentStart)) return undefined
  try {
    const value: unknown = JSON.parse(text)
    return isRecord(value) && /\.search\.v\d+$/.test(String(value['schema'])) ? (value as Told<SearchDocument>) : undefined
  } catch {
    return undefined
  }
}

/** A search document as people read it: the answer, then the numbered results its marks point to. */
export function foundText(context: Context, found: Told<SearchDocument>, styled = context.stdout.styled): string {
  const { results = [] } = found
  const answer = terminalText(found.answer ?? '').trim()
  const warnings = (found.warnings ?? []).map(terminalLine)
  const lines = [
    ...(answer === '' ? [] : [styled ? renderMarkdown(answer) : answer, '']),
    ...results.flatMap((result, index) => resultLines(result, result.index ?? index + 1)),
    ...(results.length === 0 && answer === '' ? [context.say({ en: 'Nothing was found.', zh: '没有找到结果。' })] : []),
    ...warnings.map((warning) => context.say({ en: `note: ${warning}`, zh: `注意:${warning}` })),
  ]
  return lines.join('\n')
}

function resultLines(result: Told<SearchDocument['results'][number]>, index: number): readonly string[] {
  const { title = '', url = '', snippet = '', published_at: published } = result
  const date = terminalLine(published ?? '').slice(0, 10)
  const quoted = terminalLine(snippet)
  return [
    `[${index}] ${terminalLine(title)}${date && ` (${date})`}`,
    `    ${terminalLine(url)}`,
    ...(quoted === '' ? [] : [`    ${quoted}`]),
  ]
}
