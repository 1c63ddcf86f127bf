/** The port on one connection that reads and one writer: in the process's first thread, and in each other one that serves. */
import type { Ledger } from '../../membership/ledger.ts'
import type { Store } from '../../membership/store.ts'
import type { Database } from '../database.ts'
import { firstAskedOf } from '../first-asked.ts'
import type { Repositories } from '../repositories.ts'
import { whenAsked } from '../when-asked.ts'
import type { Reading } from './reading.ts'
import type { Writer } from './writer.ts'

/** The query builder, once somebody asks. */
export function databaseOf(reading: Reading, writer: Writer): () => Promise<Database> {
  return once(async () => (await import('./dialect.ts')).databaseOn(reading, writer))
}

export function storeOn(reading: Reading, database: () => Promise<Database>, ledger: Ledger): Omit<Store, 'backup' | 'close'> {
  const repositories = once(async () => (await import('../repositories.ts')).repositoriesIn(await database()))
  const later =
    <Name extends keyof Repositories>(name: Name) =>
    async () =>
      (await repositories())[name]
  const first = firstAskedOf((text, parameters) => reading(text, parameters)[1])
  return {
    cluster: null,
    accounts: whenAsked(later('accounts'), first.accounts),
    keys: whenAsked(later('keys'), first.keys),
    images: whenAsked(later('images'), {}),
    sessions: whenAsked(later('sessions'), {}),
    apps: whenAsked(later('apps'), {}),
    mailCodes: whenAsked(later('mailCodes'), {}),
    identities: whenAsked(later('identities'), {}),
    providerLogins: whenAsked(later('providerLogins'), {}),
    devices: whenAsked(later('devices'), {}),
    boosts: whenAsked(later('boosts'), {}),
    counters: whenAsked(later('counters'), {}),
    persons: whenAsked(later('persons'), {}),
    audit: whenAsked(later('audit'), {}),
    changes: whenAsked(later('changes'), {}),
    days: whenAsked(later('days'), {}),
    ledger,
  }
}

/** The same promise for whoever asks; after a failure it is tried again. */
function once<Result>(make: () => Promise<Result>): () => Promise<Result> {
  let made: Promise<Result> | undefined
  return () =>
    (made ??= make().catch((error: unknown) => {
      made = undefined
      throw error
    }))
}
