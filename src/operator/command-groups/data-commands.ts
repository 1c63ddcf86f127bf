/** The database and its copies: backup, restore, migrate-store, store. */
import type { Command } from 'commander'
import type { OutputOptions } from '../output.ts'
import { addJsonOption } from './command-group.ts'
import type { CollectOutput } from './command-group.ts'

export function addDataCommands(program: Command, collectOutput: CollectOutput): void {
  const backup = program.command('backup').enablePositionalOptions()
  addJsonOption(
    backup
      .argument('[file]', 'a new file; default: the storage of the setting backup')
      .description('write a verified copy of the database, with the secret and the images, also while the server runs'),
  )
    .option('--no-images', 'leave the images out')
    .action(
      collectOutput(async (file: string | undefined, options: OutputOptions & { images: boolean }) =>
        (await import('../commands/backup.ts')).backup(file, options),
      ),
    )
  addJsonOption(backup.command('list').description('list the verified backups in the storage, newest first')).action(
    collectOutput(async (options: OutputOptions) => (await import('../commands/stored-backups.ts')).listStoredBackups(options)),
  )
  addJsonOption(
    backup.command('drill').description('restore the newest backup of the storage into a temporary folder and verify it'),
  )
    .option('--in <folder>', 'existing folder for the temporary one (default: that of the system)')
    .option('--passphrase-file <file>', 'file with the passphrase (default: the configuration)')
    .action(
      collectOutput(async (options: OutputOptions & { in?: string; passphraseFile?: string }) =>
        (await import('../commands/stored-backups.ts')).drillBackup(options),
      ),
    )
  addJsonOption(
    program
      .command('restore <backup>')
      .description(
        'replace the database with a verified backup, with its secret, images and pending settlements: a file, a name in the storage, or latest',
      ),
  )
    .option('--yes', 'replace the existing database')
    .option('--passphrase-file <file>', 'file with the passphrase (default: the configuration)')
    .action(
      collectOutput(async (from: string, options: OutputOptions & { yes?: boolean; passphraseFile?: string }) =>
        (await import('../commands/backup.ts')).restore(from, options),
      ),
    )
  addJsonOption(
    program
      .command('migrate-store')
      .description('move the installation to an empty database on PostgreSQL, or back; run it again after an interruption'),
  )
    .option('--to <place>', 'postgres://user:password@host/database, or an empty folder (default: the data folder)')
    .option('--from <place>', 'the same, to move from (default: the data folder)')
    .action(
      collectOutput(async (options: OutputOptions & { from?: string; to?: string }) =>
        (await import('../commands/migrate-store.ts')).migrateStore(options, process.stderr),
      ),
    )

  const store = program.command('store').description('show the layout of the database, or confirm the database server')
  addJsonOption(
    store.command('show').description('show the layout of the database, and what going back to the copy before it would lose'),
  ).action(collectOutput(async (options: OutputOptions) => (await import('../commands/store.ts')).showStore(options)))
  addJsonOption(
    store
      .command('accept')
      .description('use the PostgreSQL server of STORE_URL in place of the one used before, as after a restore'),
  ).action(collectOutput(async (options: OutputOptions) => (await import('../commands/store.ts')).acceptStore(options)))
}
