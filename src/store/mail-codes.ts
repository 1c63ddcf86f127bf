/** Mail codes on SQL. */
import type { MailCodes } from '../membership/mail-code.ts'
import type { Database } from './database.ts'

export function mailCodesIn({ write }: Database): MailCodes {
  return {
    async put(code) {
      const values = {
        code_hash: code.codeHash,
        password_hash: code.passwordHash,
        attempts: 0,
        created_at: code.createdAt,
        expires_at: code.expiresAt,
      }
      await write
        .insertInto('mail_code')
        .values({ browser: code.browser, address: code.address, ...values })
        .onConflict((conflict) => conflict.columns(['browser', 'address']).doUpdateSet(values))
        .execute()
    },

    async attempt(browser, address, now, tries) {
      // The try is used up by the same statement that hands out the hash: no number of guesses at once gets a try more.
      const row = await write
        .updateTable('mail_code')
        .set((set) => ({ attempts: set('attempts', '+', 1) }))
        .where('browser', '=', browser)
        .where('address', '=', address)
        .where('expires_at', '>', now)
        .where('attempts', '<', tries)
        .returning('code_hash')
        .executeTakeFirst()
      return row?.code_hash
    },

    async consume(browser, address, codeHash, now) {
      const row = await write
        .deleteFrom('mail_code')
        .where('browser', '=', browser)
        .where('address', '=', address)
        .where('code_hash', '=', codeHash)
        .where('expires_at', '>', now)
        .returning('password_hash')
        .executeTakeFirst()
      return row && { passwordHash: row.password_hash }
    },

    async sweep(at) {
      await write.deleteFrom('mail_code').where('expires_at', '<=', at).execute()
    },
  }
}
