/** What doctor says of the backups that the running server writes on schedule. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { formatDigest, getDigestName } from '../../../../../src/backup/stored-backups.ts'
import type { GatewayConfig } from '../../../../../src/config/config.ts'
import { checkBackup } from '../../../../../src/operator/commands/doctor/check-backup.ts'
import type { BackupFailure } from '../../../../../src/server/backup-job.ts'
import { listenForControl } from '../../../../../src/server/reload/control-socket.ts'
import { DataFolder } from '../../../../../src/system/data-folder/data-folder.ts'
import { createTemporaryFolder } from '../../../../support/temporary-folder.ts'

const hourMs = 3_600_000

t.test('the last failed backup is named with its age and reason, also beside an older good one', async (t) => {
  const [dataDir, to] = [createTemporaryFolder(t), createTemporaryFolder(t)]
  const keep = { days: 7, weeks: 4, months: 6 }
  const config = { backup: { every: 6 * hourMs, keep, to, passphraseFile: null }, store: { dataDir } } as unknown as GatewayConfig
  const addStored = (at: number): void => {
    const name = `svc-gateway-${new Date(at).toISOString().replaceAll(/[:.]/g, '-')}.tar`
    writeFileSync(join(to, name), 'archive')
    writeFileSync(join(to, getDigestName(name)), formatDigest(name, 'a'.repeat(64)))
  }
  const now = Date.now()
  addStored(now - 7 * hourMs)
  t.match(await checkBackup(config), [{ ok: true, detail: /^the newest in / }], 'no server')

  let failure: BackupFailure | null = null
  const close = await listenForControl(new DataFolder(dataDir).controlSocket, {
    reload: () => Promise.reject(new Error('not asked for')),
    readLastReload: () => Promise.reject(new Error('not asked for')),
    readLastBackupFailure: () => Promise.resolve(failure),
  })
  t.teardown(close)
  t.match(await checkBackup(config), [{ ok: true }], 'a server without a failure')

  failure = { at: now - 2 * hourMs, reason: 'No backup was written: the bucket is full (QuotaExceeded).' }
  const findings = await checkBackup(config)
  t.match(findings, [
    { ok: true, detail: /^the newest in / },
    {
      what: 'backup',
      ok: false,
      detail: /^the last one on schedule, 2 h.* ago, failed .*: No backup was written: the bucket is full/,
    },
  ])

  addStored(now - hourMs)
  t.match(await checkBackup(config), [{ ok: true }], 'an operator has written one since')
  t.equal((await checkBackup(config)).length, 1)
})
