/** The setting `backup`: what is accepted, and the sentence for what is not. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { collectSecrets } from '../../../src/config/secrets.ts'
import { evaluateConfig } from '../../../src/server/reload/evaluate-config.ts'
import { testConfig } from '../../support/gateway/test-gateway.ts'
import { createTemporaryFolder } from '../../support/temporary-folder.ts'

const bucket = {
  bucket: 'copies',
  endpoint: 'https://s3.example.com',
  accessKeyId: 'key',
  secretAccessKey: 'a secret of the bucket',
}

t.test('an interval, rules and places are accepted, with defaults', async (t) => {
  t.equal(testConfig(t).backup, null)
  const folder = createTemporaryFolder(t)
  t.same(testConfig(t, { backup: { to: folder } }).backup, {
    every: 86_400_000,
    keep: { days: 7, weeks: 4, months: 6 },
    to: folder,
    passphraseFile: null,
  })
  const config = testConfig(t, { backup: { every: '6h', keep: { days: 3 }, to: bucket } })
  t.match(config.backup, { every: 6 * 3_600_000, to: { region: 'us-east-1', prefix: '', addressing: 'path' } })
  t.ok(collectSecrets(config).includes(bucket.secretAccessKey), 'the secret is masked in text from elsewhere')
})

t.test('a setting that cannot work is refused with a sentence', async (t) => {
  const dataDir = createTemporaryFolder(t)
  const inside = join(dataDir, 'backups')
  mkdirSync(inside)
  writeFileSync(join(dataDir, 'passphrase'), 'x')
  for (const [backup, message, store] of [
    [{ to: bucket, every: '90m' }, /^backup\.every: is no interval; write it as in '6h' or '1d'/],
    [{ to: bucket, every: '0h' }, /^backup\.every/],
    [{ to: bucket, keep: { days: 0 } }, /^backup\.keep\.days/],
    [{ to: { ...bucket, bucket: 'Copies/x' } }, /is no name of a bucket/],
    [{ to: { ...bucket, prefix: '../x' } }, /letters, digits/],
    [{ to: { ...bucket, endpoint: 'https://s3.example.com/copies' } }, /^backup\.to\.endpoint must be an origin/],
    [{ to: inside }, /^backup\.to: .* is within the data folder/],
    [{ to: '/mnt', passphraseFile: join(dataDir, 'missing') }, /^backup\.passphraseFile: there is no file/],
    [{ to: '/mnt', passphrase: 'x' }, /unknown key 'passphrase'/],
    [{ to: '/mnt' }, /^backup is for SQLite/m, { url: 'postgres://user:password@127.0.0.1/database' }],
  ] as const)
    t.throws(
      () => testConfig(t, { backup, store: { dataDir, ...store } } as Parameters<typeof testConfig>[1]),
      { message },
      JSON.stringify(backup),
    )
})

t.test('the shipped configuration takes backups from the environment', async (t) => {
  const folder = createTemporaryFolder(t)
  const secretFile = join(folder, 'secret')
  writeFileSync(secretFile, 'a secret of the bucket\n')
  const evaluate = async (environment: Record<string, string>) => (await evaluateConfig(environment)).values.backup
  t.equal(await evaluate({}), null)
  const keep = { days: 7, weeks: 4, months: 6 }
  t.same(await evaluate({ BACKUP_TO: folder }), { every: 86_400_000, keep, to: folder, passphraseFile: null })
  const schedule = { BACKUP_EVERY: '6h', BACKUP_KEEP_DAYS: '3', BACKUP_KEEP_MONTHS: '0', BACKUP_PASSPHRASE_FILE: secretFile }
  const bucketVariables = {
    BACKUP_BUCKET: 'copies',
    BACKUP_ENDPOINT: 'https://s3.example.com',
    BACKUP_ACCESS_KEY_ID: 'key',
    BACKUP_SECRET_ACCESS_KEY_FILE: secretFile,
    BACKUP_ADDRESSING: 'host',
  }
  t.same(await evaluate({ ...schedule, ...bucketVariables }), {
    every: 6 * 3_600_000,
    keep: { days: 3, weeks: 4, months: 0 },
    to: { ...bucket, region: 'us-east-1', prefix: '', addressing: 'host' },
    passphraseFile: secretFile,
  })
  for (const [environment, message] of [
    [
      { BACKUP_EVERY: '6h' },
      'BACKUP_EVERY would have no effect: the configuration writes no backups. Set BACKUP_TO to a folder, or BACKUP_BUCKET.',
    ],
    [{ BACKUP_TO: folder, BACKUP_BUCKET: 'copies' }, 'BACKUP_TO and BACKUP_BUCKET are both set. Unset one of them.'],
    [{ ...bucketVariables, BACKUP_ADDRESSING: 'virtual' }, /^backup\.to/],
    [{ BACKUP_TO: folder, BACKUP_EVERY: '90m' }, /^backup\.every: is no interval.*it comes from BACKUP_EVERY/],
    [{ BACKUP_BUCKET: 'copies' }, /^backup\.to/],
  ] as const)
    await t.rejects(evaluate(environment), { name: 'ConfigError', message })
})
