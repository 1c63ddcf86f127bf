/** Shows the account of the credential in use. A key opens only `/v1`, so for a key the command can only report that it works. */
import type { showUsage } from '../../../api/membership/usage.ts'
import type { listModels } from '../../../api/models/models.ts'
import type { CommandHandler } from '../../command.ts'
import { fitLines } from '../../terminal/fit-lines.ts'
import { sanitizeLine } from '../../terminal/sanitize-text.ts'
import { formatAccountName } from '../client/account.ts'
import { callEndpoint } from '../client/service-client.ts'
import { requireCredential, readSite } from '../client/site.ts'

export const run: CommandHandler = async (context) => {
  const site = readSite(context)
  const credential = requireCredential(context, site, 'any')
  const base = { site: site.siteOrigin, credential: credential.kind, from: credential.from }
  const from = credential.from === 'file' ? context.localize({ en: 'svc login', zh: 'svc login' }) : credential.from
  if (credential.kind === 'key') {
    const { answer } = await callEndpoint<typeof listModels>(context, site, { method: 'GET', path: '/v1/models', credential })
    const models = answer.data?.length ?? 0
    context.printResult({ ...base, valid: true, models }, () =>
      fitLines(
        context.stdout,
        context.localize({
          en: `The API key in ${from} works at ${site.apiOrigin} (${models} models). The account of a key is not shown.`,
          zh: `${from} 中的 API 密钥在 ${site.apiOrigin} 有效（${models} 个模型）。密钥本身无法说明所属账户。`,
        }),
      ),
    )
    return
  }
  const { answer } = await callEndpoint<typeof showUsage>(context, site, {
    method: 'GET',
    path: '/api/membership/usage',
    credential,
  })
  const { account = {} } = answer
  const plan = account.plan ?? answer.plan ?? ''
  context.printResult({ ...base, account: { ...account, plan } }, () => {
    const name = formatAccountName(account)
    return fitLines(
      context.stdout,
      context.localize({
        en: `${name || 'Signed in'} · ${sanitizeLine(plan)} · ${site.siteOrigin} (session from ${from})`,
        zh: `${name || '已登录'} · ${sanitizeLine(plan)} · ${site.siteOrigin}（登录来自 ${from}）`,
      }),
    )
  })
}
