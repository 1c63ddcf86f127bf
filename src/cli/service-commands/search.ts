/** `POST /v1/mcp/tools/call` with `web_search`: prints the answer, then the numbered results that its citations refer to. */
import type { callTool } from '../../api/tools.ts'
import type { CommandHandler } from '../command.ts'
import { callEndpoint, printAnswer } from './client/service-client.ts'
import { formatSearchResult } from './chat-session/search-result.ts'
import { requireCredential, readSite } from './client/site.ts'

export const run: CommandHandler = async (context, args) => {
  const site = readSite(context)
  const credential = requireCredential(context, site, 'any')
  const query = args.getList('query').join(' ')
  const stopProgress = context.showProgress({ en: 'Searching …', zh: '正在搜索 …' })
  const { answer } = await callEndpoint<typeof callTool>(context, site, {
    method: 'POST',
    path: '/v1/mcp/tools/call',
    body: { name: 'web_search', arguments: { query } },
    credential,
    timeoutMs: 120_000,
  }).finally(stopProgress)
  printAnswer(context, site, answer, (found) => formatSearchResult(context, found))
}
