/** `svc-gateway migrate-store`: takes an installation from its data folder over into a database on PostgreSQL, or back. */
import { randomUUID } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { loadConfig } from '../config/config.ts'
import type { GatewayConfig } from '../config/config.ts'
import { shownUrl } from '../config/shown-url.ts'
import { move } from '../store/moving/move.ts'
import type { Progress, Side, Target } from '../store/moving/move.ts'
import type { PostgresMove } from '../store/postgres/moving.ts'
import type { FilesBeside, SqliteMove } from '../store/sqlite/moving.ts'
import { systemClock } from '../system/clock.ts'
import { DataFolder } from '../system/data-folder.ts'
import { parseSecretKey } from '../system/secret.ts'
import { Unusable } from '../system/unusable.ts'
import { imageFileIn } from '../tools/images/image-file.ts'
import { writeDurably } from './backup-files.ts'
import { CommandError } from './installation.ts'
import { counted, say } from './output.ts'
import type { Output, Said } from './output.ts'

/** Where the command says how far it is: a terminal has one line that changes. */
export interface Screen {
  readonly isTTY?: boolean
  write(text: string): unknown
}

type Place = { readonly url: string } | { readonly folder: DataFolder }

export async function migrateStore(options: Output & { from?: string; to?: string }, screen: Screen): Promise<Said> {
  const config = await loadConfig()
  const placeOf = (named: string | undefined): Place =>
    named !== undefined && isUrl(named) ? { url: named } : { folder: new DataFolder(named ?? config.store.dataDir) }
  const [from, to] = [placeOf(options.from), placeOf(options.to)]
  const teller = new Teller(screen)
  const source = await sourceAt(from, to, config)
  try {
    const target = await targetAt(to, config)
    try {
      const moved = await move(source, target, (progress) => teller.tell(progress))
      const { rows, found, images, imagesLost, verification } = moved
      const { accounts, turns } = verification
      const result = {
        ok: true,
        from: nameOf(from),
        to: nameOf(to),
        rows,
        found,
        images,
        images_lost: imagesLost,
        accounts,
        turns,
      }
      return say(options, result, () =>
        [
          `${nameOf(from)} was moved to ${nameOf(to)}: ${counted(accounts, 'account')}, ${counted(turns, 'turn')}, ${counted(rows, 'row')} in all${found === 0 ? '' : ` (${counted(found, 'was', 'were')} there from before)`}, ${counted(images, 'image')}.`,
          `The ledger adds up on both sides, every chain and the roster end where they ended, and every row is what it was.`,
          ...(imagesLost === 0
            ? []
            : [
                `${counted(imagesLost, 'image had lost its file before, and stays', 'images had lost their files before, and stay')} lost.`,
              ]),
          'url' in to
            ? `Start the servers with STORE_URL. Nothing was changed in ${nameOf(from)}: keep it, and start no server on it any more.`
            : `Start the server without STORE_URL. Nothing was changed in ${nameOf(from)}: start no server on it any more.`,
        ].join('\n'),
      )
    } finally {
      await target.close()
    }
  } finally {
    teller.end()
    await source.close()
  }
}

async function sourceAt(from: Place, to: Place, config: GatewayConfig): Promise<Side> {
  if ('url' in from && 'url' in to)
    throw new CommandError('Both are PostgreSQL: pg_dump and pg_restore move an installation from one to the other.')
  if (!('url' in from || 'url' in to))
    throw new CommandError(
      'One of the two must be a database: --to postgres://user:password@host/database, or --from such a one and --to a folder.',
    )
  if ('url' in from) return (await import('../store/postgres/moving.ts')).openPostgresSource(postgresAt(from.url, config))
  if (!from.folder.hasDatabase()) throw new CommandError(`There is no database in ${from.folder.path}.`)
  return (await import('../store/sqlite/moving.ts')).openSqliteSource(sqliteIn(from.folder))
}

async function targetAt(to: Place, config: GatewayConfig): Promise<Target> {
  if ('url' in to) return (await import('../store/postgres/moving.ts')).openPostgresTarget(postgresAt(to.url, config))
  if (statSync(to.folder.path, { throwIfNoEntry: false })?.isFile() === true)
    throw new CommandError(`${to.folder.path} is a file. Name an empty folder, to be the data folder.`)
  to.folder.prepare()
  return (await import('../store/sqlite/moving.ts')).openSqliteTarget(sqliteIn(to.folder))
}

function postgresAt(url: string, { store }: GatewayConfig): PostgresMove {
  return { url, secret: store.secretKey === null ? null : parseSecretKey(store.secretKey), clock: systemClock }
}

function sqliteIn(folder: DataFolder): SqliteMove {
  return {
    file: folder.database,
    files: filesIn(folder),
    process: { id: randomUUID(), pid: process.pid },
    clock: systemClock,
  }
}

function filesIn(folder: DataFolder): FilesBeside {
  const read = (file: string): Buffer | null => (existsSync(file) ? readFileSync(file) : null)
  return {
    secret: () => read(folder.secret),
    putSecret(secret) {
      const there = read(folder.secret)
      if (there === null) writeDurably(folder.secret, secret)
      else if (!there.equals(secret))
        throw new Unusable(`${folder.secret} is the secret of another installation. Name an empty folder.`)
    },
    hasImage: (image) => existsSync(imageFileIn(folder.images, image)),
    image: (image) => read(imageFileIn(folder.images, image)),
    putImage(image, bytes) {
      const file = imageFileIn(folder.images, image)
      mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
      writeDurably(file, bytes)
    },
  }
}

function isUrl(place: string): boolean {
  return /^[a-z]+:\/\//.test(place)
}

function nameOf(place: Place): string {
  return 'folder' in place ? place.folder.path : shownUrl(place.url)
}

const doing: Readonly<Record<Progress['step'], string>> = {
  proving: 'Proving the ledger',
  summing: 'Reading all rows',
  copying: 'Copying',
  images: 'Copying images',
  comparing: 'Comparing all rows',
}

/** Says at most so often how far it is, on a terminal. */
const everyMs = 100

class Teller {
  readonly #screen: Screen
  #step: Progress['step'] | undefined
  #table: string | null = null
  #startedAt = 0
  /** How many were done when this step began. */
  #from = 0
  #toldAt = 0
  #isOpen = false

  constructor(screen: Screen) {
    this.#screen = screen
  }

  tell(progress: Progress): void {
    const { step, table, done, of } = progress
    const now = systemClock.ticks()
    const isNew = step !== this.#step
    if (isNew) {
      this.end()
      this.#step = step
      this.#table = null
      this.#startedAt = now
      this.#from = done
      if (step === 'copying' && done > 0) this.#screen.write(`Going on: ${done} of ${of} rows are there from before.\n`)
    }
    if (this.#screen.isTTY === true) {
      if (!isNew && now - this.#toldAt < everyMs && done < of) return
      this.#toldAt = now
      this.#isOpen = true
      this.#screen.write(`\r${this.#line(progress, now)}\u001b[K`)
    } else if (isNew || table !== this.#table) {
      this.#table = table
      this.#screen.write(`${this.#line(progress, now)}\n`)
    }
  }

  end(): void {
    if (this.#isOpen) this.#screen.write('\n')
    this.#isOpen = false
  }

  #line({ step, table, done, of }: Progress, now: number): string {
    if (step === 'proving') return `${doing[step]} …`
    const seconds = (now - this.#startedAt) / 1000
    const rate = seconds === 0 ? 0 : Math.round((done - this.#from) / seconds)
    return `${doing[step]}: ${done} of ${of} (${Math.floor((100 * done) / Math.max(of, 1))} %), ${rate} a second${table === null ? '' : `: ${table}`}`
  }
}
