/** Renders emails to members and queues them. */
import { codeLifetimeMs } from '../domain/identity/email/email-otp.ts'
import type { MemberMailer } from '../domain/member-mailer.ts'
import type { Mailer } from './mailer.ts'
import {
  renderAccountDeletedEmail,
  renderDeletionWaitsEmail,
  renderDeviceEmail,
  renderSignInEmail,
  renderPasswordEmail,
  renderReauthenticationEmail,
} from './templates/email-templates.ts'
import { renderEmailChangeCode, renderEmailChanged } from './templates/email-change-email.ts'
import type { SenderIdentity } from './templates/email-templates.ts'
import { renderPurchaseEmail } from './templates/purchase-email.ts'
import type { Seller } from './templates/purchase-email.ts'
import { renderUsageAlertEmail } from './templates/usage-alert-email.ts'

interface EmailBranding {
  readonly brand: string
  /** How long the link of a sign-in email works. */
  readonly linkLifetimeMs: number
  /** Read for each email: the address is unknown before the server listens. */
  readonly origins: { readonly site: string }
  /** What receipts state. */
  readonly seller: Seller
}

/** A notice is worth reading as long as its reader can still undo what it is about. */
const noticeUsefulMs = 24 * 3_600_000

export function createMemberMail(
  mailer: Pick<Mailer, 'enqueue' | 'deliver'>,
  { brand, linkLifetimeMs, origins, seller }: EmailBranding,
): MemberMailer {
  const sender = (): SenderIdentity => ({ name: brand, site: origins.site })
  return {
    sendSignInCode: ({ to, isMember, reader }, { code, linkToken }) =>
      mailer.enqueue({
        to,
        priority: isMember ? 'member_code' : 'new_address_code',
        // The link outlives the code.
        usefulMs: Math.max(linkLifetimeMs, codeLifetimeMs),
        ...renderSignInEmail(sender(), { code, link: linkToken }, reader),
      }),
    sendReauthenticationCode: ({ to, reader }, code) =>
      mailer.enqueue({
        to,
        priority: 'member_code',
        usefulMs: codeLifetimeMs,
        ...renderReauthenticationEmail(sender(), code, reader),
      }),
    async sendDeviceSignedIn({ to, reader }, device) {
      await mailer.enqueue({ to, priority: 'notice', usefulMs: noticeUsefulMs, ...renderDeviceEmail(sender(), device, reader) })
    },
    async sendPasswordChanged({ to, reader }, at) {
      await mailer.enqueue({ to, priority: 'notice', usefulMs: noticeUsefulMs, ...renderPasswordEmail(sender(), at, reader) })
    },
    async sendAccountDeleted({ to, reader }, at) {
      await mailer.enqueue({
        to,
        priority: 'notice',
        usefulMs: noticeUsefulMs,
        ...renderAccountDeletedEmail(sender(), at, reader),
      })
    },
    async sendAccountDeletionWaits({ to, reader }) {
      await mailer.enqueue({ to, priority: 'notice', usefulMs: noticeUsefulMs, ...renderDeletionWaitsEmail(sender(), reader) })
    },
    sendEmailChangeCode: ({ to, reader }, code) =>
      mailer.enqueue({ to, priority: 'member_code', usefulMs: codeLifetimeMs, ...renderEmailChangeCode(sender(), code, reader) }),
    async sendEmailChanged({ to, reader }, change) {
      await mailer.enqueue({ to, priority: 'notice', usefulMs: noticeUsefulMs, ...renderEmailChanged(sender(), change, reader) })
    },
    deliverUsageAlert: ({ to, reader }, alert, signal) =>
      mailer.deliver({ to, ...renderUsageAlertEmail(sender(), alert, reader) }, signal),
    deliverPurchaseEmail: ({ to, reader }, email, signal) =>
      mailer.deliver({ to, ...renderPurchaseEmail(sender(), seller, email, reader) }, signal),
  }
}
