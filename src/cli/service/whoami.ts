import type { Run } from '../command.ts'
import { list, record, string } from '../record.ts'
import { terminalLine } from '../terminal-text.ts'
import { call } from './client.ts'
import { needCredential, readSite } from './site.ts'

/** Asks the service who the credential in use belongs to. A key opens only `/v1`, so with a key all that can be known is that it works. */
export const run: Run = async (context) => {
  const site = readSite(context)
  const credential = needCredential(context, site, 'any')
  const base = { site: site.siteOrigin, credential: credential.kind, from: credential.from }
  const from = credential.from === 'file' ? context.say({ en: 'svc login', zh: 'svc login' }) : credential.from
  if (credential.kind === 'key') {
    const { body } = await call(context, site, { method: 'GET', path: '/v1/models', credential })
    const models = list(record(body)['data']).length
    context.result({ ...base, valid: true, models }, () =>
      context.say({
        en: `The API key in ${from} works at ${site.apiOrigin} (${models} models). A key does not tell whose account it is.`,
        zh: `${from} 中的 API 密钥在 ${site.apiOrigin} 有效(${models} 个模型)。密钥本身无法说明所属账户。`,
      }),
    )
    return
  }
  const { body } = await call(context, site, { method: 'GET', path: '/api/membership/usage', credential })
  const account = record(record(body)['account'])
  const plan = string(account['plan']) ?? string(record(body)['plan']) ?? ''
  context.result({ ...base, account: { ...account, plan } }, () => {
    const email = terminalLine(string(account['email_masked']) ?? string(account['email']) ?? '')
    const name = email === '' ? terminalLine(string(account['id']) ?? '') : email
    return context.say({
      en: `${name || 'Signed in'} · ${terminalLine(plan)} · ${site.siteOrigin} (session from ${from})`,
      zh: `${name || '已登录'} · ${terminalLine(plan)} · ${site.siteOrigin}(会话来自 ${from})`,
    })
  })
}
