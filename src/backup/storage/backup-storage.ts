/** The port of a place where backups are stored. Names of files are ours; a storage has no folders. */
import type { GatewayConfig } from '../../config/schema/config-schema.ts'

export type BackupSettings = NonNullable<GatewayConfig['backup']>

export interface StoredFile {
  readonly name: string
  readonly bytes: number
}

/** Every method throws an OperatorError whose sentence names the place and the reason. */
export interface BackupStorage {
  /** For messages: the folder, or `s3://bucket/prefix`. */
  readonly location: string
  list(): Promise<readonly StoredFile[]>
  /**
   * The file appears under its name only when it is complete. Returns its length.
   * @param expectedBytes about how long it will be
   */
  write(name: string, content: AsyncIterable<Uint8Array>, expectedBytes: number): Promise<number>
  read(name: string): AsyncIterable<Uint8Array>
  /** A file that does not exist is no error. */
  remove(name: string): Promise<void>
  /** Removes what interrupted writes that began before this instant have left. */
  removeUnfinished(before: number): Promise<void>
}
