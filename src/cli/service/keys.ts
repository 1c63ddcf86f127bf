/** Keys are made and revoked on the web only; this says where. Nothing is sent. */
import type { Run } from '../command.ts'
import { readSite } from './site.ts'

export const run: Run = async (context) => {
  const url = `${readSite(context).siteUrl}/keys`
  context.result({ url }, () => url)
  if (!context.json)
    context.note({
      en: 'Create and revoke keys there; a key goes into SVC_API_KEY.',
      zh: '在该页面创建和吊销密钥;将密钥放入 SVC_API_KEY 使用。',
    })
}
