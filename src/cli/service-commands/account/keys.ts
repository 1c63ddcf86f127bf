/** Prints the address of the web page that creates and revokes keys. Sends nothing. */
import type { CommandHandler } from '../../command.ts'
import { readSite } from '../client/site.ts'

export const run: CommandHandler = async (context) => {
  const url = `${readSite(context).siteUrl}/keys`
  context.printResult({ url }, () => url)
  if (!context.json)
    context.printNote({
      en: 'Create and revoke keys there; a key goes into SVC_API_KEY.',
      zh: '在该页面创建和吊销密钥；将密钥放入 SVC_API_KEY 使用。',
    })
}
