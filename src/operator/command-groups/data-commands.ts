/** The database and its copies: backup, restore, migrate-store, store. */
import { defineFlag, defineText } from '../../command-table/define-option.ts'
import { defineCommand } from './define-command.ts'
import type { OperatorGroup } from './define-command.ts'

const passphraseFile = defineText(
  'passphrase-file <file>',
  { en: 'file with the passphrase', zh: '保存口令的文件' },
  { defaultText: { en: 'the configuration', zh: '配置中的值' } },
)

const backup: OperatorGroup = {
  name: 'backup',
  summary: { en: 'verified copies of the database', zh: '经过验证的数据库副本' },
  examples: [
    { line: 'svc-gateway backup', text: { en: 'to the storage of the setting backup', zh: '写入 backup 设置的存储' } },
    { line: 'svc-gateway backup /var/backups/gateway.db', text: { en: 'to a file', zh: '写入文件' } },
  ],
  defaultCommand: 'create',
  commands: [
    defineCommand({
      name: 'create',
      summary: {
        en: 'write a verified copy of the database, with the secret and the images, also while the server runs',
        zh: '写出经过验证的数据库副本，含密钥和图片；服务器运行时也可执行',
      },
      examples: [{ line: 'svc-gateway backup create' }],
      arguments: [
        {
          name: 'file',
          optional: true,
          summary: {
            en: 'a new file; default: the storage of the setting backup',
            zh: '新文件；默认写入 backup 设置的存储',
          },
        },
      ],
      options: [defineFlag('no-images', { en: 'leave the images out', zh: '不包含图片' })],
      load: async () => (await import('../commands/database/backup.ts')).backup,
    }),
    defineCommand({
      name: 'list',
      summary: { en: 'list the verified backups in the storage, newest first', zh: '列出存储中已验证的备份，最新的在前' },
      examples: [{ line: 'svc-gateway backup list' }],
      load: async () => (await import('../commands/database/stored-backups.ts')).listStoredBackups,
    }),
    defineCommand({
      name: 'drill',
      summary: {
        en: 'restore the newest backup of the storage into a temporary folder and verify it',
        zh: '将存储中最新的备份恢复到临时文件夹并验证',
      },
      examples: [{ line: 'svc-gateway backup drill' }],
      options: [
        defineText(
          'in <folder>',
          { en: 'existing folder for the temporary one', zh: '在该已有文件夹中建立临时文件夹' },
          { defaultText: { en: 'that of the system', zh: '系统的临时文件夹' } },
        ),
        passphraseFile,
      ],
      load: async () => (await import('../commands/database/stored-backups.ts')).drillBackup,
    }),
  ],
}

const restore = defineCommand({
  name: 'restore',
  summary: {
    en: 'replace the database with a verified backup, with its secret, images and pending settlements: a file, a name in the storage, or latest',
    zh: '用已验证的备份替换数据库，含其密钥、图片和待结算记录：文件、存储中的名称，或 latest',
  },
  examples: [{ line: 'svc-gateway restore latest --yes' }],
  arguments: [
    { name: 'backup', summary: { en: 'a file, a name in the storage, or latest', zh: '文件、存储中的名称，或 latest' } },
  ],
  options: [defineFlag('yes', { en: 'replace the existing database', zh: '替换现有数据库' }), passphraseFile],
  load: async () => (await import('../commands/database/backup.ts')).restore,
})

const migrateStore = defineCommand({
  name: 'migrate-store',
  summary: {
    en: 'move the installation to an empty database on PostgreSQL, or back; run it again after an interruption',
    zh: '将安装迁移到 PostgreSQL 的空数据库，或迁回；中断后可再次运行',
  },
  examples: [{ line: 'svc-gateway migrate-store --to postgres://svc@db/svc' }],
  options: [
    defineText(
      'to <place>',
      {
        en: 'postgres://user:password@host/database, or an empty folder',
        zh: 'postgres://user:password@host/database，或空文件夹',
      },
      { defaultText: { en: 'the data folder', zh: '数据文件夹' } },
    ),
    defineText(
      'from <place>',
      { en: 'the same, to move from', zh: '同上，迁移的来源' },
      { defaultText: { en: 'the data folder', zh: '数据文件夹' } },
    ),
  ],
  load: async () => {
    const { migrateStore } = await import('../commands/database/migrate-store.ts')
    return (options) => migrateStore(options, process.stderr)
  },
})

const store: OperatorGroup = {
  name: 'store',
  summary: { en: 'show the layout of the database, or confirm the database server', zh: '查看数据库结构，或确认数据库服务器' },
  examples: [{ line: 'svc-gateway store show' }],
  commands: [
    defineCommand({
      name: 'show',
      summary: {
        en: 'show the layout of the database, and what going back to the copy before it would lose',
        zh: '查看数据库结构，以及回到之前副本会丢失什么',
      },
      examples: [{ line: 'svc-gateway store show' }],
      load: async () => (await import('../commands/database/store.ts')).showStore,
    }),
    defineCommand({
      name: 'accept',
      summary: {
        en: 'use the PostgreSQL server of STORE_URL in place of the one used before, as after a restore',
        zh: '改用 STORE_URL 的 PostgreSQL 服务器代替此前的，例如在恢复之后',
      },
      examples: [{ line: 'svc-gateway store accept' }],
      load: async () => (await import('../commands/database/store.ts')).acceptStore,
    }),
  ],
}

export const dataCommands = [backup, restore, migrateStore, store]
