/** Answers of the search product: detects them in a chat and formats them as text. */
import type { SearchDocument } from '../../../api/search-document.ts'
import type { Context } from '../../context.ts'
import { renderMarkdown } from '../../terminal/markdown.ts'
import { isRecord } from '../../json.ts'
import { sanitizeLine, sanitizeText } from '../../terminal/sanitize-text.ts'
import type { DeepPartial } from '../client/service-client.ts'
import { parseJson } from '../../../system/parse-json.ts'

/** The beginning of a chat answer from the search product; ordinary answers rarely begin so. */
export const searchDocumentPrefix = '{"schema":'

/** Returns the search document in an answer's text, or undefined. */
export function parseSearchDocument(text: string): DeepPartial<SearchDocument> | undefined {
  if (!text.startsWith(searchDocumentPrefix)) return undefined
  try {
    const value: unknown = parseJson(text)
    return isRecord(value) && /\.search\.v\d+$/.test(String(value['schema'])) ? (value as DeepPartial<SearchDocument>) : undefined
  } catch {
    return undefined
  }
}

/** A search document as text: the answer, then the numbered results that its citations refer to. */
export function formatSearchResult(
  context: Context,
  document: DeepPartial<SearchDocument>,
  styled = context.stdout.styled,
): string {
  const { results = [] } = document
  const answer = sanitizeText(document.answer ?? '').trim()
  const warnings = (document.warnings ?? []).map(sanitizeLine)
  const lines = [
    ...(answer === '' ? [] : [styled ? renderMarkdown(answer, context.stdout).trimEnd() : answer, '']),
    ...results.flatMap((result, index) => formatResultLines(result, result.index ?? index + 1)),
    ...(results.length === 0 && answer === '' ? [context.localize({ en: 'Nothing was found.', zh: '没有找到结果。' })] : []),
    ...warnings.map((warning) => context.localize({ en: `note: ${warning}`, zh: `注意：${warning}` })),
  ]
  return lines.join('\n')
}

function formatResultLines(result: DeepPartial<SearchDocument['results'][number]>, index: number): readonly string[] {
  const { title = '', url = '', snippet = '', published_at: publishedAt } = result
  const date = sanitizeLine(publishedAt ?? '').slice(0, 10)
  const snippetText = sanitizeLine(snippet)
  return [
    `[${index}] ${sanitizeLine(title)}${date && ` (${date})`}`,
    `    ${sanitizeLine(url)}`,
    ...(snippetText === '' ? [] : [`    ${snippetText}`]),
  ]
}
