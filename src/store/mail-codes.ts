/** Mail codes on SQL. */
import type { Kysely } from 'kysely'
import type { LetterVerdict, MailCodes, NewLetter, SentLetter } from '../membership/mail-code.ts'
import { codeLifeMs } from '../membership/mail-code.ts'
import type { Database } from './database.ts'
import type { Schema } from './schema.ts'

export function mailCodesIn({ read, write, transact }: Database): MailCodes {
  return {
    async put(letter, since, judge): Promise<LetterVerdict> {
      // Looked at first without a lock: whoever asks too often must not hold anybody up.
      const verdict = judge(await recentLetters(read, letter, since))
      if (verdict.kind === 'wait') return verdict
      return transact(async (transaction) => {
        const decided = judge(await recentLetters(transaction, letter, since))
        if (decided.kind === 'wait') return decided
        const { link, browser, address, mailbox, network, known, codeHash, passwordHash, invite, at } = letter
        await transaction
          .updateTable('mail_code')
          .set((set) => ({ tries: set.ref('attempts') }))
          .where('browser', '=', browser)
          .where('address', '=', address)
          .execute()
        await transaction
          .insertInto('mail_code')
          .values({
            link,
            browser,
            address,
            mailbox,
            network,
            known: known ? 1 : 0,
            code_hash: codeHash,
            tries: decided.tries,
            attempts: 0,
            password_hash: passwordHash,
            invite,
            used: 0,
            created_at: at,
          })
          .execute()
        return decided
      })
    },

    async attempt(browser, address, now) {
      // The try is used up by the same statement that hands out the hash: no number of guesses at once gets a try more.
      const row = await write
        .updateTable('mail_code')
        .set((set) => ({ attempts: set('attempts', '+', 1) }))
        .where('browser', '=', browser)
        .where('address', '=', address)
        .where('created_at', '>', now - codeLifeMs)
        .where('used', '=', 0)
        .whereRef('attempts', '<', 'tries')
        .returning(['link', 'code_hash', 'password_hash', 'invite'])
        .executeTakeFirst()
      return row && { link: row.link, codeHash: row.code_hash, passwordHash: row.password_hash, invite: row.invite }
    },

    async consumeCode(link) {
      // The wrong tries before the right one were the owner's own: they are no guesses.
      const row = await write
        .updateTable('mail_code')
        .set({ used: 1, tries: 0, attempts: 0, password_hash: null })
        .where('link', '=', link)
        .where('used', '=', 0)
        .returning('link')
        .executeTakeFirst()
      return row !== undefined
    },

    async look(link, since) {
      return read
        .selectFrom('mail_code')
        .select('address')
        .where('link', '=', link)
        .where('created_at', '>', since)
        .where('used', '=', 0)
        .executeTakeFirst()
    },

    async consumeLink(link, since) {
      // What was guessed at its code stays counted: perhaps it was somebody else who had it sent.
      const row = await write
        .updateTable('mail_code')
        .set((set) => ({ used: 1, tries: set.ref('attempts') }))
        .where('link', '=', link)
        .where('created_at', '>', since)
        .where('used', '=', 0)
        .returning(['address', 'browser', 'password_hash', 'invite'])
        .executeTakeFirst()
      return row && { address: row.address, browser: row.browser, passwordHash: row.password_hash, invite: row.invite }
    },

    async sweep(at) {
      await write.deleteFrom('mail_code').where('created_at', '<=', at).execute()
    },
  }
}

async function recentLetters(db: Kysely<Schema>, letter: NewLetter, since: number): Promise<SentLetter[]> {
  const rows = await db
    .selectFrom('mail_code')
    .select(['mailbox', 'network', 'known', 'created_at', 'used', 'tries', 'attempts', 'browser', 'address'])
    .where((where) => where.or([where('mailbox', '=', letter.mailbox), where('network', '=', letter.network)]))
    .where('created_at', '>', since)
    .execute()
  return rows.map((row) => ({
    mailbox: row.mailbox,
    network: row.network,
    known: row.known === 1,
    at: row.created_at,
    used: row.used === 1,
    tries: row.tries,
    attempts: row.attempts,
    replaced: row.address === letter.address && Buffer.from(row.browser).equals(letter.browser),
  }))
}
