/**
 * Moves an installation from one database to another: page by page in key order, so that the rows already there show where to
 * continue after an interruption. Both sides are verified and compared row by row.
 */
import { createHash } from 'node:crypto'
import type { ImageKind } from '../../domain/image.ts'
import type { Verification } from '../../domain/billing/ledger.ts'
import { OperatorError } from '../../system/operator-error.ts'
import { pickKey, transferTables, intersectColumns } from './tables.ts'
import type { TransferTable, Row, SharedColumns } from './tables.ts'

/** One of the two databases. No other process writes to it while it is open. */
export interface Endpoint {
  listColumns(table: TransferTable): Promise<readonly string[]>
  countRows(table: TransferTable): Promise<number>
  /** The next rows after a key, or the first ones, in key order. */
  readPage(shape: SharedColumns, after: Row | null, limit: number): Promise<readonly Row[]>
  verify(): Promise<Verification>
  /** Null if the installation has none yet, or keeps it outside of the database. */
  readSecret(): Promise<Uint8Array | null>
  /** Null if the image's file is missing. */
  readImage(record: ImageRef): Promise<Uint8Array | null>
  close(): Promise<void>
}

export interface ImageRef {
  readonly hash: string
  readonly kind: ImageKind
}

/** A table's row count and a hash of its contents. */
interface TableChecksum {
  readonly rows: number
  readonly hash: string
}
export type TableChecksums = Readonly<Record<string, TableChecksum>>

export interface TransferTarget extends Endpoint {
  /** The source's checksums when the move began; null if it has not begun. */
  readSourceChecksums(): Promise<TableChecksums | null>
  /** Marks the target as incomplete, so that no server starts on it. */
  start(sums: TableChecksums): Promise<void>
  /** The key of the last row that is there. */
  readLastKey(table: TransferTable): Promise<Row | null>
  /** Inserts all of them or none. */
  insertRows(shape: SharedColumns, rows: readonly Row[]): Promise<void>
  /** @throws OperatorError if the target has another secret */
  writeSecret(secret: Uint8Array): Promise<void>
  /** The next images without data, in the order of their hashes. */
  listMissingImages(after: string, limit: number): Promise<readonly ImageRef[]>
  writeImage(record: ImageRef, bytes: Uint8Array): Promise<void>
  /** Derives what follows from the rows, once all are there. May run again. */
  finalizeRows(): Promise<void>
  /** Completes the installation. */
  finish(): Promise<void>
}

type TransferStep = 'proving' | 'summing' | 'copying' | 'images' | 'comparing'

/** Rows or images done, of a total; 0 of 0 if the total is unknown. */
export interface TransferProgress {
  readonly step: TransferStep
  readonly table: string | null
  readonly done: number
  readonly total: number
}

interface TransferResult {
  readonly rows: number
  /** Rows that an interrupted move had already copied. */
  readonly found: number
  readonly images: number
  /** Images with a record whose file is missing or has other contents. */
  readonly missingImages: number
  readonly verification: Verification
  readonly sums: TableChecksums
}

const defaultPageSize = 2_000
const imagePageSize = 500

export async function transfer(
  source: Endpoint,
  target: TransferTarget,
  onProgress: (progress: TransferProgress) => void,
  pageSize = defaultPageSize,
): Promise<TransferResult> {
  const startedChecksums = await target.readSourceChecksums()
  onProgress({ step: 'proving', table: null, done: 0, total: 0 })
  assertVerified(await source.verify(), 'The ledger of the source does not verify')
  const shapes = await Promise.all(
    transferTables.map(async (table) =>
      intersectColumns(table, await source.listColumns(table), await target.listColumns(table)),
    ),
  )
  const checksums = await computeChecksums(source, shapes, 'summing', onProgress)
  if (startedChecksums === null) await target.start(checksums)
  else assertSameSource(startedChecksums, checksums)
  const secret = await source.readSecret()
  if (secret !== null) await target.writeSecret(secret)
  const existingRowCount = await copyRows(source, target, shapes, checksums, onProgress, pageSize)
  const images = await copyImages(source, target, checksums['image']?.rows ?? 0, onProgress)
  await target.finalizeRows()
  onProgress({ step: 'proving', table: null, done: 0, total: 0 })
  const verification = await target.verify()
  assertVerified(verification, 'The ledger of the target does not verify')
  const targetChecksums = await computeChecksums(target, shapes, 'comparing', onProgress)
  const differingShape = shapes.find(({ table: { name } }) => !isSame(checksums[name], targetChecksums[name]))
  if (differingShape !== undefined)
    throw new OperatorError(
      `The target differs from the source in table ${differingShape.table.name}. Empty the target and begin again.`,
    )
  await target.finish()
  return { rows: sumRows(checksums), found: existingRowCount, ...images, verification, sums: targetChecksums }
}

function sumRows(sums: TableChecksums): number {
  return Object.values(sums).reduce((sum, { rows }) => sum + rows, 0)
}

function assertVerified({ ok, mismatches: [first] }: Verification, what: string): void {
  if (ok) return
  throw new OperatorError(
    `${what}: ${first === undefined ? 'unknown' : `${first.account}: ${first.rule}: ${first.detail}`}. The move stopped; run svc-gateway ledger verify for all mismatches`,
  )
}

function assertSameSource(begun: TableChecksums, sums: TableChecksums): void {
  const other = Object.keys({ ...begun, ...sums }).find((name) => !isSame(begun[name], sums[name]))
  if (other !== undefined)
    throw new OperatorError(
      `The target contains part of another installation, or this one has changed since the move began (table ${other}). Empty the target and begin again.`,
    )
}

function isSame(one: TableChecksum | undefined, other: TableChecksum | undefined): boolean {
  return one !== undefined && other !== undefined && one.rows === other.rows && one.hash === other.hash
}

/** In key order. */
async function computeChecksums(
  endpoint: Endpoint,
  shapes: readonly SharedColumns[],
  step: TransferStep,
  onProgress: (progress: TransferProgress) => void,
): Promise<TableChecksums> {
  const checksums: Record<string, TableChecksum> = {}
  const total = (await countTables(endpoint, shapes)).reduce((sum, count) => sum + count, 0)
  let doneRows = 0
  for (const shape of shapes) {
    const { name } = shape.table
    const hash = createHash('sha256').update(JSON.stringify(shape.columns))
    let rows = 0
    for await (const page of readPages(endpoint, shape, null)) {
      for (const row of page) hash.update(serializeRow(row))
      rows += page.length
      doneRows += page.length
      onProgress({ step, table: name, done: doneRows, total })
    }
    checksums[name] = { rows, hash: hash.digest('hex') }
  }
  return checksums
}

async function copyRows(
  source: Endpoint,
  target: TransferTarget,
  shapes: readonly SharedColumns[],
  sums: TableChecksums,
  onProgress: (progress: TransferProgress) => void,
  pageSize: number,
): Promise<number> {
  const total = sumRows(sums)
  const existingRowCount = (await countTables(target, shapes)).reduce((sum, count) => sum + count, 0)
  let doneRows = existingRowCount
  onProgress({ step: 'copying', table: null, done: doneRows, total })
  for (const shape of shapes) {
    const { table } = shape
    for await (const page of readPages(source, shape, await target.readLastKey(table), pageSize)) {
      await target.insertRows(shape, page)
      doneRows += page.length
      onProgress({ step: 'copying', table: table.name, done: doneRows, total })
    }
  }
  return existingRowCount
}

async function copyImages(
  source: Endpoint,
  target: TransferTarget,
  total: number,
  onProgress: (progress: TransferProgress) => void,
): Promise<{ readonly images: number; readonly missingImages: number }> {
  let [images, missingImages] = [0, 0]
  for (let last = ''; ;) {
    const missingRefs = await target.listMissingImages(last, imagePageSize)
    for (const record of missingRefs) {
      const bytes = await source.readImage(record)
      // An image is named by the hash of its data. Other data would be shown to members as theirs.
      if (bytes === null || createHash('sha256').update(bytes).digest('hex') !== record.hash) missingImages += 1
      else {
        await target.writeImage(record, bytes)
        images += 1
      }
      last = record.hash
      onProgress({ step: 'images', table: null, done: images + missingImages, total })
    }
    if (missingRefs.length < imagePageSize) return { images, missingImages }
  }
}

function countTables(endpoint: Endpoint, shapes: readonly SharedColumns[]): Promise<readonly number[]> {
  return Promise.all(shapes.map(({ table }) => endpoint.countRows(table)))
}

async function* readPages(
  endpoint: Endpoint,
  shape: SharedColumns,
  from: Row | null,
  pageSize = defaultPageSize,
): AsyncIterable<readonly Row[]> {
  for (let after = from; ;) {
    const page = await endpoint.readPage(shape, after, pageSize)
    if (page.length > 0) yield page
    const last = page.at(-1)
    if (last === undefined || page.length < pageSize) return
    after = pickKey(shape, last)
  }
}

/** The same text for the same values from either database. */
function serializeRow(row: Row): string {
  return JSON.stringify(
    row.map((value) =>
      value instanceof Uint8Array ? [Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('base64')] : value,
    ),
  )
}
