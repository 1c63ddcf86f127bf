import type { Context } from '../context.ts'
import { renderMarkdown } from '../markdown.ts'
import type { Fields } from '../record.ts'
import { isRecord, list, number, record, string } from '../record.ts'
import { terminalLine, terminalText } from '../terminal-text.ts'

/** What a chat with the search product begins with; an ordinary answer hardly does. */
export const documentStart = '{"schema":'

/** The document in an answer's text, where it is one. */
export function searchDocument(text: string): Fields | undefined {
  if (!text.startsWith(documentStart)) return undefined
  try {
    const value: unknown = JSON.parse(text)
    return isRecord(value) && /\.search\.v\d+$/.test(string(value['schema']) ?? '') ? value : undefined
  } catch {
    return undefined
  }
}

/** A search document as people read it: the answer, then the numbered results its marks point to. */
export function foundText(context: Context, found: Fields, styled = context.stdout.styled): string {
  const answer = terminalText(string(found['answer']) ?? '').trim()
  const results = list(found['results']).map(record)
  const warnings = list(found['warnings']).map((warning) => terminalLine(String(warning)))
  const lines = [
    ...(answer === '' ? [] : [styled ? renderMarkdown(answer) : answer, '']),
    ...results.flatMap((result, index) => resultLines(result, number(result['index']) ?? index + 1)),
    ...(results.length === 0 && answer === '' ? [context.say({ en: 'Nothing was found.', zh: '没有找到结果。' })] : []),
    ...warnings.map((warning) => context.say({ en: `note: ${warning}`, zh: `注意:${warning}` })),
  ]
  return lines.join('\n')
}

function resultLines(result: Fields, index: number): readonly string[] {
  const [title, url, snippet] = [result['title'], result['url'], result['snippet']].map((text) =>
    terminalLine(string(text) ?? ''),
  )
  const date = terminalLine(string(result['published_at']) ?? '').slice(0, 10)
  return [`[${index}] ${title}${date && ` (${date})`}`, `    ${url}`, ...(snippet ? [`    ${snippet}`] : [])]
}
