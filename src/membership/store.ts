/** The port: everything the service keeps, in domain words. SQLite stands behind it today; nothing above may lean on that. */
import type { Accounts } from './account.ts'
import type { ApiKeys } from './api-key.ts'
import type { Images } from './image.ts'
import type { Ledger } from './ledger.ts'

export interface Store {
  readonly accounts: Accounts
  readonly keys: ApiKeys
  readonly images: Images
  readonly ledger: Ledger
  /** A consistent copy of everything into a new file, while the service runs. */
  backup(file: string): Promise<void>
  /** Ends the writer after what it has been given; nothing acknowledged is lost. */
  close(): Promise<void>
}
