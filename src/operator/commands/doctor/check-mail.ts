/** Doctor checks of outgoing email. */
import { resolve } from 'node:path'
import type { GatewayConfig } from '../../../config/config.ts'
import { toOutgoingMail } from '../../../config/outgoing-mail.ts'
import { renderTestEmail } from '../../../mail/templates/email-templates.ts'
import { SenderRefused, examineSmtpServer, sendTestEmail } from '../../../mail/smtp/smtp-examination.ts'
import { isPrivateCertificateError } from '../../../mail/smtp/smtp-failure.ts'
import { getSenderAddress, isSenderDeliverable } from '../../../mail/smtp/smtp-transport.ts'
import type { HealthCheck } from '../../../services/health/health-checks.ts'
import { isLoopbackHost } from '../../../system/loopback.ts'
import { describeError } from './describe-error.ts'

const what = 'mail'

/** Connects, signs in and names the sender, and sends a test email where the operator names a recipient. */
export async function checkMail(
  config: Pick<GatewayConfig, 'mail' | 'listen' | 'store' | 'brand'>,
  testAddress?: string,
  timeoutMs?: number,
): Promise<HealthCheck[]> {
  const { smtp: server, outbox } = toOutgoingMail(config)
  if (server === null) {
    const detail = `no SMTP_URL: mail goes to ${resolve(outbox)}`
    return [{ what, ok: testAddress === undefined, detail: testAddress === undefined ? detail : `${detail}, so none was sent` }]
  }
  const { host, hostname } = new URL(server.url)
  const sender = getSenderAddress(server.from)
  const senderCheck: HealthCheck[] =
    isLoopbackHost(hostname) || isSenderDeliverable(server.from)
      ? []
      : [
          {
            what: 'mail sender',
            ok: false,
            detail: `emails come from ${sender}, which other servers refuse: set MAIL_FROM to an address of a domain of yours`,
          },
        ]
  try {
    await examineSmtpServer(server, timeoutMs)
    if (testAddress !== undefined) await sendTestEmail(server, { to: testAddress, ...renderTestEmail(config.brand) })
  } catch (error) {
    return [{ what, ok: false, detail: `${host}: ${describeFailure(error, sender)}` }, ...senderCheck]
  }
  const detail =
    testAddress === undefined
      ? `${host} takes our sign-in and the sender ${sender}; try an email: doctor --send-test-mail you@example.com`
      : `${host} took an email from ${server.from} to ${testAddress}`
  return [{ what, ok: true, detail }, ...senderCheck]
}

function describeFailure(error: unknown, sender: string): string {
  const reason = describeError(error)
  if (error instanceof SenderRefused) return `refuses the sender ${sender} (${reason}); check MAIL_FROM`
  if (isPrivateCertificateError(error))
    return `the certificate is of a private authority (${reason}); start the service and this command with NODE_EXTRA_CA_CERTS=FILE, the certificate of that authority`
  if ((error as { readonly code?: unknown }).code === 'ETLS')
    return `offers no TLS (${reason}), and the password is not sent without it; use smtps://, or allow it with mail.allowPlaintextPassword`
  return `${reason}; check SMTP_URL and MAIL_FROM`
}
