/** Asks the service who the credential in use belongs to. A key opens only `/v1`, so with a key all that can be known is that it works. */
import type { showUsage } from '../../api/membership/usage.ts'
import type { listModels } from '../../api/models.ts'
import type { Run } from '../command.ts'
import { terminalLine } from '../terminal-text.ts'
import { ask } from './client.ts'
import { needCredential, readSite } from './site.ts'

export const run: Run = async (context) => {
  const site = readSite(context)
  const credential = needCredential(context, site, 'any')
  const base = { site: site.siteOrigin, credential: credential.kind, from: credential.from }
  const from = credential.from === 'file' ? context.say({ en: 'svc login', zh: 'svc login' }) : credential.from
  if (credential.kind === 'key') {
    const { answer } = await ask<typeof listModels>(context, site, { method: 'GET', path: '/v1/models', credential })
    const models = answer.data?.length ?? 0
    context.result({ ...base, valid: true, models }, () =>
      context.say({
        en: `The API key in ${from} works at ${site.apiOrigin} (${models} models). A key does not tell whose account it is.`,
        zh: `${from} 中的 API 密钥在 ${site.apiOrigin} 有效(${models} 个模型)。密钥本身无法说明所属账户。`,
      }),
    )
    return
  }
  const { answer } = await ask<typeof showUsage>(context, site, { method: 'GET', path: '/api/membership/usage', credential })
  const { account = {} } = answer
  const plan = account.plan ?? answer.plan ?? ''
  context.result({ ...base, account: { ...account, plan } }, () => {
    const email = terminalLine(account.email_masked ?? '')
    const name = email === '' ? terminalLine(account.id ?? '') : email
    return context.say({
      en: `${name || 'Signed in'} · ${terminalLine(plan)} · ${site.siteOrigin} (session from ${from})`,
      zh: `${name || '已登录'} · ${terminalLine(plan)} · ${site.siteOrigin}(会话来自 ${from})`,
    })
  })
}
