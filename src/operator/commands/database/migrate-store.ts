/** `svc-gateway migrate-store`: transfers an installation from its data folder to PostgreSQL, or back. */
import { randomUUID } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { loadConfig } from '../../../config/config.ts'
import type { GatewayConfig } from '../../../config/config.ts'
import { redactUrl } from '../../../config/redact-url.ts'
import { transfer } from '../../../store/transfer/transfer.ts'
import type { TransferProgress, Endpoint, TransferTarget } from '../../../store/transfer/transfer.ts'
import type { PostgresTransferOptions } from '../../../store/postgres/transfer.ts'
import type { CompanionFiles, SqliteTransferOptions } from '../../../store/sqlite/transfer.ts'
import { systemClock } from '../../../system/clock.ts'
import { DataFolder } from '../../../system/data-folder/data-folder.ts'
import { parseSecretKey } from '../../../system/secret.ts'
import { OperatorError } from '../../../system/operator-error.ts'
import { getImagePath } from '../../../images/image-folder.ts'
import { writeDurably } from '../../../backup/companion-files.ts'
import { CommandError } from '../../installation.ts'
import { pluralize, renderResult } from '../../output.ts'
import type { OutputOptions, CommandResult } from '../../output.ts'

/** Progress output: on a terminal, one line that is updated. */
interface ProgressStream {
  readonly isTTY?: boolean
  write(text: string): unknown
}

type StoreLocation = { readonly url: string } | { readonly folder: DataFolder }

export async function migrateStore(
  options: OutputOptions & { from?: string; to?: string },
  screen: ProgressStream,
): Promise<CommandResult> {
  const config = await loadConfig()
  const parseLocation = (named: string | undefined): StoreLocation =>
    named !== undefined && isUrl(named) ? { url: named } : { folder: new DataFolder(named ?? config.store.dataDir) }
  const [from, to] = [parseLocation(options.from), parseLocation(options.to)]
  const reporter = new ProgressReporter(screen)
  const source = await openSource(from, to, config)
  try {
    const target = await openTarget(to, config)
    try {
      const outcome = await transfer(source, target, (progress) => reporter.report(progress))
      const { rows, found, images, missingImages, verification } = outcome
      const { accounts, turns } = verification
      const result = {
        ok: true,
        from: formatLocation(from),
        to: formatLocation(to),
        rows,
        found,
        images,
        images_lost: missingImages,
        accounts,
        turns,
      }
      return renderResult(options, result, () =>
        [
          `${formatLocation(from)} was moved to ${formatLocation(to)}: ${pluralize(accounts, 'account')}, ${pluralize(turns, 'turn')}, ${pluralize(rows, 'row')} in all${found === 0 ? '' : ` (${pluralize(found, 'was', 'were')} there from before)`}, ${pluralize(images, 'image')}.`,
          `The ledger adds up on both sides, every chain and the account registry end where they ended, and every row is what it was.`,
          ...(missingImages === 0
            ? []
            : [
                `${pluralize(missingImages, 'image had lost its file before, and stays', 'images had lost their files before, and stay')} lost.`,
              ]),
          'url' in to
            ? `Start the servers with STORE_URL. Nothing was changed in ${formatLocation(from)}: keep it, and start no server on it any more.`
            : `Start the server without STORE_URL. Nothing was changed in ${formatLocation(from)}: start no server on it any more.`,
        ].join('\n'),
      )
    } finally {
      await target.close()
    }
  } finally {
    reporter.end()
    await source.close()
  }
}

async function openSource(from: StoreLocation, to: StoreLocation, config: GatewayConfig): Promise<Endpoint> {
  if ('url' in from && 'url' in to)
    throw new CommandError('Both are PostgreSQL: pg_dump and pg_restore move an installation from one to the other.')
  if (!('url' in from || 'url' in to))
    throw new CommandError(
      'One of the two must be a database: --to postgres://user:password@host/database, or --from such a one and --to a folder.',
    )
  if ('url' in from)
    return (await import('../../../store/postgres/transfer.ts')).openPostgresSource(createPostgresOptions(from.url, config))
  if (!from.folder.hasDatabase()) throw new CommandError(`There is no database in ${from.folder.path}.`)
  return (await import('../../../store/sqlite/transfer.ts')).openSqliteSource(createSqliteOptions(from.folder))
}

async function openTarget(to: StoreLocation, config: GatewayConfig): Promise<TransferTarget> {
  if ('url' in to)
    return (await import('../../../store/postgres/transfer.ts')).openPostgresTarget(createPostgresOptions(to.url, config))
  if (statSync(to.folder.path, { throwIfNoEntry: false })?.isFile() === true)
    throw new CommandError(`${to.folder.path} is a file. Name an empty folder, to be the data folder.`)
  to.folder.prepare()
  return (await import('../../../store/sqlite/transfer.ts')).openSqliteTarget(createSqliteOptions(to.folder))
}

function createPostgresOptions(url: string, { store }: GatewayConfig): PostgresTransferOptions {
  return { url, secret: store.secretKey === null ? null : parseSecretKey(store.secretKey), clock: systemClock }
}

function createSqliteOptions(folder: DataFolder): SqliteTransferOptions {
  return {
    file: folder.database,
    files: createCompanionFiles(folder),
    process: { id: randomUUID(), pid: process.pid },
    clock: systemClock,
  }
}

function createCompanionFiles(folder: DataFolder): CompanionFiles {
  const readIfPresent = (file: string): Buffer | null => (existsSync(file) ? readFileSync(file) : null)
  return {
    readSecret: () => readIfPresent(folder.secret),
    writeSecret(secret) {
      const existingSecret = readIfPresent(folder.secret)
      if (existingSecret === null) writeDurably(folder.secret, secret)
      else if (!existingSecret.equals(secret))
        throw new OperatorError(`${folder.secret} is the secret of another installation. Name an empty folder.`)
    },
    hasImage: (image) => existsSync(getImagePath(folder.images, image)),
    readImage: (image) => readIfPresent(getImagePath(folder.images, image)),
    writeImage(image, bytes) {
      const file = getImagePath(folder.images, image)
      mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
      writeDurably(file, bytes)
    },
  }
}

function isUrl(place: string): boolean {
  return /^[a-z]+:\/\//.test(place)
}

function formatLocation(place: StoreLocation): string {
  return 'folder' in place ? place.folder.path : redactUrl(place.url)
}

const stepLabels: Readonly<Record<TransferProgress['step'], string>> = {
  proving: 'Proving the ledger',
  summing: 'Reading all rows',
  copying: 'Copying',
  images: 'Copying images',
  comparing: 'Comparing all rows',
}

/** Minimum interval between progress updates on a terminal. */
const progressIntervalMs = 100

class ProgressReporter {
  readonly #screen: ProgressStream
  #step: TransferProgress['step'] | undefined
  #table: string | null = null
  #startedAt = 0
  /** Rows done before this step began. */
  #doneAtStart = 0
  #lastReportAt = 0
  #isLineOpen = false

  constructor(screen: ProgressStream) {
    this.#screen = screen
  }

  report(progress: TransferProgress): void {
    const { step, table, done, total } = progress
    const now = systemClock.monotonicMs()
    const isNew = step !== this.#step
    if (isNew) {
      this.end()
      this.#step = step
      this.#table = null
      this.#startedAt = now
      this.#doneAtStart = done
      if (step === 'copying' && done > 0) this.#screen.write(`Going on: ${done} of ${total} rows are there from before.\n`)
    }
    if (this.#screen.isTTY === true) {
      if (!isNew && now - this.#lastReportAt < progressIntervalMs && done < total) return
      this.#lastReportAt = now
      this.#isLineOpen = true
      this.#screen.write(`\r${this.#formatLine(progress, now)}\u001b[K`)
    } else if (isNew || table !== this.#table) {
      this.#table = table
      this.#screen.write(`${this.#formatLine(progress, now)}\n`)
    }
  }

  end(): void {
    if (this.#isLineOpen) this.#screen.write('\n')
    this.#isLineOpen = false
  }

  #formatLine({ step, table, done, total }: TransferProgress, now: number): string {
    if (step === 'proving') return `${stepLabels[step]} …`
    const seconds = (now - this.#startedAt) / 1000
    const rate = seconds === 0 ? 0 : Math.round((done - this.#doneAtStart) / seconds)
    return `${stepLabels[step]}: ${done} of ${total} (${Math.floor((100 * done) / Math.max(total, 1))} %), ${rate} a second${table === null ? '' : `: ${table}`}`
  }
}
