import type { OutgoingMail } from '../mail/outgoing-mail.ts'
import { DataFolder } from '../system/data-folder/data-folder.ts'
import type { GatewayConfig } from './schema/config-schema.ts'

/** How the emails of a configuration leave this machine. */
export function toOutgoingMail({ mail, listen, store }: Pick<GatewayConfig, 'mail' | 'listen' | 'store'>): OutgoingMail {
  const { smtpUrl: url, ...settings } = mail
  const siteHost = listen.siteUrl === null ? null : new URL(listen.siteUrl).hostname
  const { outbox } = new DataFolder(store.dataDir)
  return { smtp: url === null ? null : { ...settings, url, siteHost }, from: mail.from, outbox }
}
