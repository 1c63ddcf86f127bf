/**
 * Takes an installation from one database over into another: page by page in the order of its keys, so that what is there says where to go
 * on after an interruption; proven on both sides, and equal row by row.
 */
import { createHash } from 'node:crypto'
import type { ImageKind } from '../../membership/image.ts'
import type { Verification } from '../../membership/ledger.ts'
import { Unusable } from '../../system/unusable.ts'
import { keyOf, movedTables, shapeOf } from './tables.ts'
import type { MovedTable, Row, Shape } from './tables.ts'

/** One of the two databases. Nobody else writes to it for as long as it is open. */
export interface Side {
  columnsOf(table: MovedTable): Promise<readonly string[]>
  /** How many rows it has. */
  count(table: MovedTable): Promise<number>
  /** The next rows after a key, or the first ones, in the order of the key. */
  page(shape: Shape, after: Row | null, most: number): Promise<readonly Row[]>
  verify(): Promise<Verification>
  /** The installation's own; null where it has none yet, or keeps it elsewhere. */
  secret(): Promise<Uint8Array | null>
  /** What an image is made of; null where it is gone. */
  image(record: ImageOf): Promise<Uint8Array | null>
  close(): Promise<void>
}

export interface ImageOf {
  readonly hash: string
  readonly kind: ImageKind
}

/** What a table comes to: how many rows, and a hash of all that is in them. */
export interface Sum {
  readonly rows: number
  readonly hash: string
}
export type Sums = Readonly<Record<string, Sum>>

export interface Target extends Side {
  /** What the source came to when the move to here began; null where it has not. */
  begun(): Promise<Sums | null>
  /** From now on it is half an installation, that no server starts on. */
  begin(sums: Sums): Promise<void>
  /** Of the last row there is. */
  lastKey(table: MovedTable): Promise<Row | null>
  /** All of them or none. */
  put(shape: Shape, rows: readonly Row[]): Promise<void>
  /** @throws Unusable where there is another one */
  putSecret(secret: Uint8Array): Promise<void>
  /** The next ones of those whose bytes are not here, in the order of their hashes. */
  lackingImages(after: string, most: number): Promise<readonly ImageOf[]>
  putImage(record: ImageOf, bytes: Uint8Array): Promise<void>
  /** Once all rows are there: what follows from them. May be done again. */
  settle(): Promise<void>
  /** It is an installation from now on. */
  finish(): Promise<void>
}

export type Step = 'proving' | 'summing' | 'copying' | 'images' | 'comparing'

/** How far it is: rows of how many, or images; 0 of 0 where nobody can say. */
export interface Progress {
  readonly step: Step
  readonly table: string | null
  readonly done: number
  readonly of: number
}

export interface Moved {
  readonly rows: number
  /** Those that were there before: of a move that was interrupted. */
  readonly found: number
  readonly images: number
  /** Images that have a record, and no file, or another one than they should. */
  readonly imagesLost: number
  readonly verification: Verification
  readonly sums: Sums
}

const usualRowsAtOnce = 2_000
const imagesAtOnce = 500

export async function move(
  source: Side,
  target: Target,
  tell: (progress: Progress) => void,
  rowsAtOnce = usualRowsAtOnce,
): Promise<Moved> {
  const begun = await target.begun()
  tell({ step: 'proving', table: null, done: 0, of: 0 })
  mustAddUp(await source.verify(), 'What is to be moved does not add up')
  const shapes = await Promise.all(
    movedTables.map(async (table) => shapeOf(table, await source.columnsOf(table), await target.columnsOf(table))),
  )
  const sums = await sumsOf(source, shapes, 'summing', tell)
  if (begun === null) await target.begin(sums)
  else mustBeTheSame(begun, sums)
  const secret = await source.secret()
  if (secret !== null) await target.putSecret(secret)
  const found = await copyRows(source, target, shapes, sums, tell, rowsAtOnce)
  const images = await copyImages(source, target, sums['image']?.rows ?? 0, tell)
  await target.settle()
  tell({ step: 'proving', table: null, done: 0, of: 0 })
  const verification = await target.verify()
  mustAddUp(verification, 'What has arrived does not add up')
  const arrived = await sumsOf(target, shapes, 'comparing', tell)
  const wrong = shapes.find(({ table: { name } }) => !isSame(sums[name], arrived[name]))
  if (wrong !== undefined)
    throw new Unusable(`What has arrived is not what was there: table ${wrong.table.name}. Empty the target and begin again.`)
  await target.finish()
  return { rows: rowsIn(sums), found, ...images, verification, sums: arrived }
}

function rowsIn(sums: Sums): number {
  return Object.values(sums).reduce((sum, { rows }) => sum + rows, 0)
}

function mustAddUp({ ok, mismatches: [first] }: Verification, what: string): void {
  if (ok) return
  throw new Unusable(
    `${what}: ${first === undefined ? 'unknown' : `${first.account}: ${first.rule}: ${first.detail}`}. Nothing goes on; see: svc-gateway ledger verify`,
  )
}

function mustBeTheSame(begun: Sums, sums: Sums): void {
  const other = Object.keys({ ...begun, ...sums }).find((name) => !isSame(begun[name], sums[name]))
  if (other !== undefined)
    throw new Unusable(
      `The target is half filled from another installation, or this one has changed since (table ${other}). Empty it and begin again.`,
    )
}

function isSame(one: Sum | undefined, other: Sum | undefined): boolean {
  return one !== undefined && other !== undefined && one.rows === other.rows && one.hash === other.hash
}

/** Every row, in its order. */
async function sumsOf(side: Side, shapes: readonly Shape[], step: Step, tell: (progress: Progress) => void): Promise<Sums> {
  const sums: Record<string, Sum> = {}
  const of = (await countsOf(side, shapes)).reduce((sum, count) => sum + count, 0)
  let done = 0
  for (const shape of shapes) {
    const { name } = shape.table
    const hash = createHash('sha256').update(JSON.stringify(shape.columns))
    let rows = 0
    for await (const page of pagesOf(side, shape, null)) {
      for (const row of page) hash.update(textOf(row))
      rows += page.length
      done += page.length
      tell({ step, table: name, done, of })
    }
    sums[name] = { rows, hash: hash.digest('hex') }
  }
  return sums
}

async function copyRows(
  source: Side,
  target: Target,
  shapes: readonly Shape[],
  sums: Sums,
  tell: (progress: Progress) => void,
  rowsAtOnce: number,
): Promise<number> {
  const of = rowsIn(sums)
  const found = (await countsOf(target, shapes)).reduce((sum, count) => sum + count, 0)
  let done = found
  tell({ step: 'copying', table: null, done, of })
  for (const shape of shapes) {
    const { table } = shape
    for await (const page of pagesOf(source, shape, await target.lastKey(table), rowsAtOnce)) {
      await target.put(shape, page)
      done += page.length
      tell({ step: 'copying', table: table.name, done, of })
    }
  }
  return found
}

async function copyImages(
  source: Side,
  target: Target,
  of: number,
  tell: (progress: Progress) => void,
): Promise<{ readonly images: number; readonly imagesLost: number }> {
  let [images, imagesLost] = [0, 0]
  for (let last = ''; ;) {
    const lacking = await target.lackingImages(last, imagesAtOnce)
    for (const record of lacking) {
      const bytes = await source.image(record)
      // They are named by what they are: others than that would only be served to somebody as theirs.
      if (bytes === null || createHash('sha256').update(bytes).digest('hex') !== record.hash) imagesLost += 1
      else {
        await target.putImage(record, bytes)
        images += 1
      }
      last = record.hash
      tell({ step: 'images', table: null, done: images + imagesLost, of })
    }
    if (lacking.length < imagesAtOnce) return { images, imagesLost }
  }
}

function countsOf(side: Side, shapes: readonly Shape[]): Promise<readonly number[]> {
  return Promise.all(shapes.map(({ table }) => side.count(table)))
}

async function* pagesOf(side: Side, shape: Shape, from: Row | null, rowsAtOnce = usualRowsAtOnce): AsyncIterable<readonly Row[]> {
  for (let after = from; ;) {
    const page = await side.page(shape, after, rowsAtOnce)
    if (page.length > 0) yield page
    const last = page.at(-1)
    if (last === undefined || page.length < rowsAtOnce) return
    after = keyOf(shape, last)
  }
}

/** The same for the same values, whichever database they come from. */
function textOf(row: Row): string {
  return JSON.stringify(
    row.map((value) =>
      value instanceof Uint8Array ? [Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('base64')] : value,
    ),
  )
}
