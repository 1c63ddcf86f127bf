/** Finds the invitations of a person, whose accounts may have been deleted. */
import { sql } from 'kysely'
import type { Migration } from './migration.ts'

export const invitePerson: Migration = {
  name: '0003-invite-person',
  readableBy: '0001-initial',
  async up(db) {
    await sql.raw('create index invite_person on invite (inviter_person, decided_at)').execute(db)
  },
}
