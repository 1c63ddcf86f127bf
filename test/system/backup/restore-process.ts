/** Another process that restores a database, to be killed: prints a line for each operation of the file system that it begins. */
import './print-operations.ts'
import { noCompanions } from '../../../src/store/sqlite/maintenance/restore.ts'

const { restoreFile } = await import('../../../src/store/sqlite/maintenance/restore.ts')
const [from = '', to = ''] = process.argv.slice(2)
await restoreFile({ from, to, at: Date.parse('2026-11-28T12:00:00Z'), companions: noCompanions })
