/** Renders emails to members and queues them. */
import type { MemberMailer } from '../domain/services/member-mailer.ts'
import type { Mailer } from './mailer.ts'
import {
  renderAccountDeletedEmail,
  renderDeviceEmail,
  renderSignInEmail,
  renderPasswordEmail,
  renderReauthenticationEmail,
} from './email-templates.ts'
import type { SenderIdentity } from './email-templates.ts'
import { renderUsageAlertEmail } from './usage-alert-email.ts'

interface EmailBranding {
  readonly brand: string
  /** Read for each email: the address is unknown before the server listens. */
  readonly origins: { readonly site: string }
}

export function createMemberMail(mailer: Pick<Mailer, 'enqueue' | 'deliver'>, { brand, origins }: EmailBranding): MemberMailer {
  const sender = (): SenderIdentity => ({ name: brand, site: origins.site })
  return {
    sendSignInCode: ({ to, isMember, reader }, { code, linkToken }) =>
      mailer.enqueue({
        to,
        priority: isMember ? 'member_code' : 'new_address_code',
        ...renderSignInEmail(sender(), { code, link: linkToken }, reader),
      }),
    sendReauthenticationCode: ({ to, reader }, code) =>
      mailer.enqueue({ to, priority: 'member_code', ...renderReauthenticationEmail(sender(), code, reader) }),
    async sendDeviceSignedIn({ to, reader }, device) {
      await mailer.enqueue({ to, priority: 'notice', ...renderDeviceEmail(sender(), device, reader) })
    },
    async sendPasswordChanged({ to, reader }, at) {
      await mailer.enqueue({ to, priority: 'notice', ...renderPasswordEmail(sender(), at, reader) })
    },
    async sendAccountDeleted({ to, reader }, at) {
      await mailer.enqueue({ to, priority: 'notice', ...renderAccountDeletedEmail(sender(), at, reader) })
    },
    deliverUsageAlert: ({ to, reader }, alert, signal) =>
      mailer.deliver({ to, ...renderUsageAlertEmail(sender(), alert, reader) }, signal),
  }
}
