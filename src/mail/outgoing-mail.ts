/** How emails leave this machine: through an SMTP server, or as `.eml` files in a folder where none is configured. */
import { rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { DeliveryOutcome } from '../domain/member-mailer.ts'
import type { Clock } from '../system/clock.ts'
import { createFolder } from '../system/data-folder/create-folder.ts'
import { deliverBySmtp } from './smtp/smtp-delivery.ts'
import { describeSmtpError } from './smtp/smtp-failure.ts'
import { toMessage } from './smtp/smtp-transport.ts'
import type { AddressedEmail, EmailTransport, SmtpServer } from './smtp/smtp-transport.ts'

export interface OutgoingMail {
  /** Null: emails become files. */
  readonly smtp: SmtpServer | null
  /** Sender of all emails. */
  readonly from: string
  /** The folder for files. */
  readonly outbox: string
}

export interface Delivery {
  readonly outcome: DeliveryOutcome
  /** Why it was not sent, for the log. */
  readonly reason: string | null
}

interface DeliveryDeps {
  /** Names the file. */
  readonly id: string
  readonly signal: AbortSignal
  readonly clock: Clock
}

/** Sends an email once, now, past the queue, for a caller that needs the outcome. It never rejects. */
export async function deliverOnce(
  mail: OutgoingMail,
  email: AddressedEmail,
  { id, signal, clock }: DeliveryDeps,
): Promise<Delivery> {
  if (mail.smtp !== null) return deliverBySmtp(mail.smtp, email, signal, clock)
  return createFolderTransport(mail)
    .send(email, id)
    .then(
      () => ({ outcome: 'sent', reason: null }),
      (error: unknown) => ({ outcome: 'unavailable', reason: describeSmtpError(error) }),
    )
}

export function createFolderTransport({ from, outbox }: Pick<OutgoingMail, 'from' | 'outbox'>): EmailTransport {
  return {
    async send(email, id) {
      const { createTransport } = await import('nodemailer')
      const transport = createTransport({ streamTransport: true, buffer: true, newline: 'unix' })
      createFolder(outbox, 0o700)
      const { message } = await transport.sendMail(toMessage(from, email))
      const file = join(outbox, `${id}.eml`)
      // A program that watches the folder sees complete files only.
      await writeFile(`${file}.part`, message as Buffer, { mode: 0o600 })
      await rename(`${file}.part`, file)
    },
    verify: async () => undefined,
    close: () => undefined,
  }
}
