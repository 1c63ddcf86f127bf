/** A mailer whose clock only the test moves, and the emails that it sends. */
import { randomBytes } from 'node:crypto'
import type { Test } from 'tap'
import { unknownReader } from '../../../src/domain/identity/reader.ts'
import { EmailEncryption } from '../../../src/mail/email-encryption.ts'
import { LocalEmailQueue } from '../../../src/mail/local-email-queue.ts'
import type { Email, EmailPriority } from '../../../src/mail/email-queue.ts'
import { EmailSpool } from '../../../src/mail/email-spool.ts'
import { renderSignInEmail } from '../../../src/mail/templates/email-templates.ts'
import { Mailer } from '../../../src/mail/mailer.ts'
import type { SmtpServer } from '../../../src/mail/smtp/smtp-transport.ts'
import { createLog } from '../../../src/observability/log.ts'
import { createIds } from '../../../src/system/ids.ts'
import { createMovableClock } from '../../support/gateway/movable-clock.ts'

const sender = { name: 'svc', site: 'http://localhost' }

export const spoolSecret = randomBytes(32)

export interface TestMailerOptions {
  /** Null: files. */
  readonly url: string | null
  readonly outbox?: string
  readonly smtp?: Partial<SmtpServer>
  readonly commandTimeoutMs?: number
  /** The folder of waiting emails. */
  readonly spoolFolder?: string
  readonly clock?: ReturnType<typeof createMovableClock>
}

export interface TestMailer {
  readonly mailer: Mailer
  readonly queue: LocalEmailQueue
  readonly lines: string[]
  /** Lets time pass, and waits until everything due then was tried. */
  pass(ms: number): Promise<void>
}

export function createTestMailer(t: Test, options: TestMailerOptions): TestMailer {
  const { url, outbox = '', smtp = {}, commandTimeoutMs, spoolFolder, clock = createMovableClock() } = options
  const lines: string[] = []
  const { log } = createLog('info', { write: (line) => void lines.push(line) })
  const spool =
    spoolFolder === undefined ? null : new EmailSpool({ folder: spoolFolder, encryption: new EmailEncryption(spoolSecret), log })
  const queue = new LocalEmailQueue({ clock: clock.clock, spool })
  const from = smtp.from ?? 'svc <no-reply@localhost>'
  const mailer = new Mailer({
    mail: {
      smtp: url === null ? null : { url, from, allowPlaintextPassword: false, siteHost: null, ...smtp },
      from,
      outbox,
    },
    log,
    ids: createIds(),
    clock: clock.clock,
    queue,
    ...(commandTimeoutMs === undefined ? {} : { commandTimeoutMs }),
  })
  t.teardown(() => mailer.close(0))
  return {
    mailer,
    queue,
    lines,
    async pass(ms) {
      clock.advance(ms)
      queue.poll()
      await mailer.waitUntilIdle()
    },
  }
}

export function createSignInEmail(to: string | null, options: { priority?: EmailPriority; usefulMs?: number } = {}): Email {
  const { priority = 'member_code', usefulMs = 3_600_000 } = options
  return { to, priority, usefulMs, ...renderSignInEmail(sender, { code: '123456', link: 'w'.repeat(43) }, unknownReader) }
}
