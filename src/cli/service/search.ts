import type { Run } from '../command.ts'
import type { Context } from '../context.ts'
import { renderMarkdown } from '../markdown.ts'
import type { Fields } from '../record.ts'
import { list, number, record, string } from '../record.ts'
import { terminalLine, terminalText } from '../terminal-text.ts'
import { call } from './client.ts'
import { needCredential, readSite } from './site.ts'

/** `POST /v1/mcp/tools/call` with `web_search`: the answer, then the numbered results its marks point to. */
export const run: Run = async (context, args) => {
  const site = readSite(context)
  const credential = needCredential(context, site, 'any')
  const query = args.list('query').join(' ')
  const done = context.progress({ en: 'Searching …', zh: '正在搜索 …' })
  const { body } = await call(context, site, {
    method: 'POST',
    path: '/v1/mcp/tools/call',
    body: { name: 'web_search', arguments: { query } },
    credential,
    timeoutMs: 120_000,
  }).finally(done)
  context.result(body, () => toText(context, record(body)))
}

function toText(context: Context, found: Fields): string {
  const answer = terminalText(string(found['answer']) ?? '').trim()
  const results = list(found['results']).map(record)
  const warnings = list(found['warnings']).map((warning) => terminalLine(String(warning)))
  const lines = [
    ...(answer === '' ? [] : [context.stdout.styled ? renderMarkdown(answer) : answer, '']),
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
