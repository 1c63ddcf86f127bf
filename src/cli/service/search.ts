/** `POST /v1/mcp/tools/call` with `web_search`: the answer, then the numbered results its marks point to. */
import type { callTool } from '../../api/tools.ts'
import type { Run } from '../command.ts'
import { ask, show } from './client.ts'
import { foundText } from './found-text.ts'
import { needCredential, readSite } from './site.ts'

export const run: Run = async (context, args) => {
  const site = readSite(context)
  const credential = needCredential(context, site, 'any')
  const query = args.list('query').join(' ')
  const done = context.progress({ en: 'Searching …', zh: '正在搜索 …' })
  const { answer } = await ask<typeof callTool>(context, site, {
    method: 'POST',
    path: '/v1/mcp/tools/call',
    body: { name: 'web_search', arguments: { query } },
    credential,
    timeoutMs: 120_000,
  }).finally(done)
  show(context, site, answer, (found) => foundText(context, found))
}
