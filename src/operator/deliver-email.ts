/** Sends one email of a command at once: by the configured server, or as a file where none is configured. */
import { toOutgoingMail } from '../config/outgoing-mail.ts'
import { deliverOnce } from '../mail/outgoing-mail.ts'
import type { Delivery } from '../mail/outgoing-mail.ts'
import type { AddressedEmail } from '../mail/smtp/smtp-transport.ts'
import { systemClock } from '../system/clock.ts'
import type { Installation } from './installation.ts'

const timeoutMs = 30_000

/** As the server sends emails: by SMTP, or into the folder. */
export function deliverEmail(
  { config, ids, clock }: Pick<Installation, 'config' | 'ids' | 'clock'>,
  email: AddressedEmail,
  signal = systemClock.deadline(timeoutMs),
): Promise<Delivery> {
  return deliverOnce(toOutgoingMail(config), email, { id: ids.next('mail_', clock.now()), signal, clock: systemClock })
}
