/** The email addresses of accounts by id, for people who read a list; null for an account that has none or is deleted. */
import type { Installation } from './installation.ts'

export async function findEmails(
  { store }: Pick<Installation, 'store'>,
  ids: readonly string[],
): Promise<ReadonlyMap<string, string | null>> {
  const emailsById = await Promise.all(
    [...new Set(ids)].map(async (id) => [id, (await store.accounts.find(id))?.email ?? null] as const),
  )
  return new Map(emailsById)
}
