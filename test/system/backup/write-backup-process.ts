/** Another process that writes a backup, to be killed: prints a line for each operation of the file system that it begins. */
import './print-operations.ts'
import type { WriteBackupOptions } from '../../../src/backup/write-backup.ts'

const { writeBackup } = await import('../../../src/backup/write-backup.ts')
await writeBackup(JSON.parse(process.argv[2] ?? '') as WriteBackupOptions)
