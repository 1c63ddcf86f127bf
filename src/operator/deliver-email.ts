/** Sends one email of a command at once: by the configured server, or as a file where none is configured. */
import { toOutgoingMail } from '../config/outgoing-mail.ts'
import { deliverOnce } from '../mail/outgoing-mail.ts'
import type { AddressedEmail } from '../mail/smtp/smtp-transport.ts'
import { systemClock } from '../system/clock.ts'
import type { Installation } from './installation.ts'

const timeoutMs = 30_000

/** Null where it was sent, and otherwise the reason why it was not. */
export async function deliverEmail(
  { config, ids, clock }: Pick<Installation, 'config' | 'ids' | 'clock'>,
  email: AddressedEmail,
): Promise<string | null> {
  const id = ids.next('mail_', clock.now())
  const signal = systemClock.deadline(timeoutMs)
  return (await deliverOnce(toOutgoingMail(config), email, { id, signal, clock: systemClock })).reason
}
