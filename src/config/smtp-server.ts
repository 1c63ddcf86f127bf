import type { SmtpServer } from '../mail/smtp/smtp-transport.ts'
import type { GatewayConfig } from './schema/config-schema.ts'

/** The SMTP server of a configuration; null: emails become files. */
export function toSmtpServer({ mail, listen }: Pick<GatewayConfig, 'mail' | 'listen'>): SmtpServer | null {
  const { smtpUrl: url, from, allowPlaintextPassword } = mail
  if (url === null) return null
  return { url, from, allowPlaintextPassword, siteHost: listen.siteUrl === null ? null : new URL(listen.siteUrl).hostname }
}
