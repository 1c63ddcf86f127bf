/** The port: everything the service keeps, in domain words. SQLite stands behind it today; nothing above may lean on that. */
import type { Accounts } from './account.ts'
import type { ApiKeys } from './api-key.ts'
import type { Images } from './image.ts'
import type { Apps } from './app.ts'
import type { Audit } from './audit.ts'
import type { Boosts } from './boost.ts'
import type { Changes } from './changes.ts'
import type { Condition } from './condition.ts'
import type { Counters } from './counters.ts'
import type { DeviceLogins } from './device-login.ts'
import type { Identities, ProviderLogins } from './identity.ts'
import type { Ledger } from './ledger.ts'
import type { Persons } from './person.ts'
import type { MailCodes } from './mail-code.ts'
import type { Sessions } from './session.ts'
import type { UsedDays } from './usage.ts'

/** What is to be known of other nodes that use the same database. */
export interface Cluster {
  /** How many live, this one among them. */
  nodes(): number
  /** Whether a chore that one node does for all, so often, is this one's to do now. It spares work: every chore is right if two do it. */
  isMine(chore: string, everyMs: number): Promise<boolean>
  /** How the database does, asked now. It may take as long as the database lets everybody wait. @throws where it cannot be asked */
  condition(): Promise<Condition>
}

export interface Store {
  /** Null: the database is one machine's own, and no other node writes to it. */
  readonly cluster: Cluster | null
  readonly accounts: Accounts
  readonly keys: ApiKeys
  readonly images: Images
  readonly sessions: Sessions
  readonly apps: Apps
  readonly mailCodes: MailCodes
  readonly identities: Identities
  readonly providerLogins: ProviderLogins
  readonly devices: DeviceLogins
  readonly boosts: Boosts
  readonly counters: Counters
  readonly persons: Persons
  readonly audit: Audit
  readonly changes: Changes
  readonly days: UsedDays
  readonly ledger: Ledger
  /** A consistent copy of everything into a new file, while the service runs. */
  backup(file: string): Promise<void>
  /** Ends the writer after what it has been given; nothing acknowledged is lost. What is owed is tried for `owedMs` more, default 1 s. */
  close(options?: { readonly owedMs?: number }): Promise<void>
}
