/** Email verifications: codes and links. */
import type { Kysely } from 'kysely'
import type {
  SendVerdict,
  EmailVerifications,
  NewEmailVerification,
  SentVerificationEmail,
} from '../../../domain/identity/email/email-otp.ts'
import { codeLifetimeMs } from '../../../domain/identity/email/email-otp.ts'
import type { Database } from '../../database.ts'
import type { Schema } from '../../schema/schema.ts'

export function createEmailVerificationRepository({ read, write, transact }: Database): EmailVerifications {
  return {
    async createIfAllowed(email, since, judge): Promise<SendVerdict> {
      // Checked without a lock first, so that repeated requests do not delay other writers.
      const verdict = judge(await listRecentEmails(read, email, since))
      if (verdict.kind === 'wait') return verdict
      return transact(async (transaction) => {
        const verdict = judge(await listRecentEmails(transaction, email, since))
        if (verdict.kind === 'wait') return verdict
        const { link, browser, address, mailbox, network, known, codeHash, passwordHash, invite, at } = email
        await transaction
          .updateTable('email_verification')
          .set((set) => ({ max_attempts: set.ref('attempts') }))
          .where('browser_hash', '=', browser)
          .where('email', '=', address)
          .execute()
        await transaction
          .insertInto('email_verification')
          .values({
            link_hash: link,
            browser_hash: browser,
            email: address,
            canonical_email: mailbox,
            network,
            known_device: known ? 1 : 0,
            code_hash: codeHash,
            max_attempts: verdict.tries,
            attempts: 0,
            password_hash: passwordHash,
            invite_code: invite,
            used: 0,
            created_at: at,
          })
          .execute()
        return verdict
      })
    },

    async setPasswordHash(link, passwordHash) {
      await write.updateTable('email_verification').set({ password_hash: passwordHash }).where('link_hash', '=', link).execute()
    },

    async discard(link) {
      await write.deleteFrom('email_verification').where('link_hash', '=', link).execute()
    },

    async useCodeAttempt(browser, address, now) {
      // The statement that returns the hash also uses up the attempt: concurrent guesses get no extra attempt.
      const row = await write
        .updateTable('email_verification')
        .set((set) => ({ attempts: set('attempts', '+', 1) }))
        .where('browser_hash', '=', browser)
        .where('email', '=', address)
        .where('created_at', '>', now - codeLifetimeMs)
        .where('used', '=', 0)
        .whereRef('attempts', '<', 'max_attempts')
        .returning(['link_hash', 'code_hash', 'password_hash', 'invite_code'])
        .executeTakeFirst()
      return row && { link: row.link_hash, codeHash: row.code_hash, passwordHash: row.password_hash, invite: row.invite_code }
    },

    async consumeCode(link) {
      // The wrong attempts before the right one were the owner's own and do not count as guesses.
      const row = await write
        .updateTable('email_verification')
        .set({ used: 1, max_attempts: 0, attempts: 0, password_hash: null })
        .where('link_hash', '=', link)
        .where('used', '=', 0)
        .returning('link_hash')
        .executeTakeFirst()
      return row !== undefined
    },

    async findByLink(link, since) {
      return read
        .selectFrom('email_verification')
        .select('email as address')
        .where('link_hash', '=', link)
        .where('created_at', '>', since)
        .where('used', '=', 0)
        .executeTakeFirst()
    },

    async consumeLink(link, since) {
      // Guesses at the code stay counted: another person may have requested the email.
      const row = await write
        .updateTable('email_verification')
        .set((set) => ({ used: 1, max_attempts: set.ref('attempts') }))
        .where('link_hash', '=', link)
        .where('created_at', '>', since)
        .where('used', '=', 0)
        .returning(['email', 'browser_hash', 'password_hash', 'invite_code'])
        .executeTakeFirst()
      return row && { address: row.email, browser: row.browser_hash, passwordHash: row.password_hash, invite: row.invite_code }
    },

    async sweep(at) {
      await write.deleteFrom('email_verification').where('created_at', '<=', at).execute()
    },
  }
}

async function listRecentEmails(
  db: Kysely<Schema>,
  email: NewEmailVerification,
  since: number,
): Promise<SentVerificationEmail[]> {
  const rows = await db
    .selectFrom('email_verification')
    .select([
      'canonical_email',
      'network',
      'known_device',
      'created_at',
      'used',
      'max_attempts',
      'attempts',
      'browser_hash',
      'email',
    ])
    .where((where) => where.or([where('canonical_email', '=', email.mailbox), where('network', '=', email.network)]))
    .where('created_at', '>', since)
    .execute()
  return rows.map((row) => ({
    mailbox: row.canonical_email,
    network: row.network,
    known: row.known_device === 1,
    at: row.created_at,
    used: row.used === 1,
    tries: row.max_attempts,
    attempts: row.attempts,
    replaced: row.email === email.address && Buffer.from(row.browser_hash).equals(email.browser),
  }))
}
