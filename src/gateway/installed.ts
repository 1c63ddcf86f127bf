/** What an installation has once, wherever it is kept: in a folder, or in a database that several nodes share. */
import type { LimitBook } from '../access/limits/book.ts'
import type { ImageFiles } from '../membership/image.ts'
import type { Store } from '../membership/store.ts'
import type { StoreThreads } from '../store/sqlite/open.ts'
import type { Clock } from '../system/clock.ts'
import type { LetterQueue } from '../system/mail/letter-queue.ts'
import type { DataFolder } from '../system/data-folder.ts'
import type { GatewayConfig } from '../config/config.ts'
import type { Services } from './services.ts'

export interface InstallationParts {
  readonly config: GatewayConfig
  readonly folder: DataFolder
  readonly clock: Clock
  readonly log: Services['log']
  /** Hears what stands in the way of new turns, after the log has. */
  readonly onTrouble?: ((trouble: string | null) => void) | undefined
}

export interface Installed {
  readonly store: Store
  /** How more threads of this process come to the store; null where each node serves with one. */
  readonly threads: StoreThreads | null
  /** Counts requests a minute for all nodes that share the database; null where there is one server. */
  readonly limitBook: (() => LimitBook) | null
  /** Where images lie; null: in the data folder. */
  readonly imageFiles: ImageFiles | null
  /** Where letters wait until they are sent; null: in this process. */
  readonly letters: LetterQueue | null
  readonly secret: Buffer
  /** Where it was begun, where that was with this start. */
  readonly begunIn: string | null
}
