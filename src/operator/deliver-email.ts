/** Sends one email of a command at once: by the configured server, or as a file where none is configured. */
import { join } from 'node:path'
import { toSmtpServer } from '../config/smtp-server.ts'
import { createFolderTransport } from '../mail/mailer.ts'
import type { AddressedEmail } from '../mail/smtp/smtp-transport.ts'
import { deliverBySmtp } from '../mail/smtp/smtp-delivery.ts'
import { systemClock } from '../system/clock.ts'
import type { Installation } from './installation.ts'

const timeoutMs = 30_000

/** Null where it was sent, and otherwise the reason why it was not. */
export async function deliverEmail(
  { config, ids, clock }: Pick<Installation, 'config' | 'ids' | 'clock'>,
  email: AddressedEmail,
): Promise<string | null> {
  const smtp = toSmtpServer(config)
  if (smtp !== null) return (await deliverBySmtp(smtp, email, systemClock.deadline(timeoutMs), systemClock)).reason
  const folder = createFolderTransport({ from: config.mail.from, outbox: join(config.store.dataDir, 'outbox') })
  await folder.send(email, ids.next('mail_', clock.now()))
  return null
}
