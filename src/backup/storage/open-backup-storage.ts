/** Opens the storage of the configuration: a folder or a bucket. */
import type { BackupSettings, BackupStorage } from './backup-storage.ts'
import { FolderStorage } from './folder-storage.ts'
import { S3Storage } from './s3-storage.ts'

export function openBackupStorage(to: BackupSettings['to'], signal?: AbortSignal): BackupStorage {
  return typeof to === 'string' ? new FolderStorage(to) : new S3Storage(to, signal)
}
