/** Folders that the doctor can write into and the service cannot. */
import { chmodSync, chownSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { Test } from 'tap'
import { findUnitObstacle, findUserObstacle } from '../../../../../src/operator/commands/doctor/find-write-obstacle.ts'
import { checkBackup } from '../../../../../src/operator/commands/doctor/check-backup.ts'
import { describeSystemError } from '../../../../../src/system/operator-error.ts'
import { testConfig } from '../../../../support/gateway/test-gateway.ts'
import { createTemporaryFolder } from '../../../../support/temporary-folder.ts'

const dataDir = '/var/lib/svc-gateway'

function writeSystemctl(t: Test, settings: Readonly<Record<string, string>>): string {
  const file = join(createTemporaryFolder(t), 'systemctl')
  const lines = Object.entries({ StateDirectory: 'svc-gateway', ProtectSystem: 'strict', ProtectHome: 'yes', ...settings })
  writeFileSync(file, `#!/bin/sh\ncat <<'end'\n${lines.map(([name, value]) => `${name}=${value}`).join('\n')}\nend\n`)
  chmodSync(file, 0o755)
  return file
}

t.test('the restrictions of the unit name what a folder needs', async (t) => {
  const readOnly = /^\/mnt\/copies is read-only for the service: .*ReadWritePaths=\/mnt\/copies, and restart it$/
  const cases: readonly [string, Readonly<Record<string, string>>, RegExp | null][] = [
    ['/mnt/copies', { ReadWritePaths: '' }, readOnly],
    ['/mnt/copies', { ReadWritePaths: '/mnt/copies-too /srv' }, readOnly],
    ['/mnt/copies', { ReadWritePaths: '/srv -/mnt' }, null],
    ['/mnt/copies', { ProtectSystem: 'full' }, null],
    ['/mnt/copies', { StateDirectory: 'another' }, null],
    ['/var/lib/svc-gateway/copies', {}, null],
    ['/var/lib/svc-gateway-copies', {}, /read-only/],
    ['/var/lib/svc-gateway-copies', { StateDirectory: 'svc-gateway svc-gateway-copies' }, null],
    ['/home/ann/copies', { ReadWritePaths: '/home/ann/copies' }, /its unit hides \/home; use a folder elsewhere/],
    ['/home/ann/copies', { ProtectHome: 'no', ReadWritePaths: '/home/ann/copies' }, null],
  ]
  for (const [folder, settings, expected] of cases) {
    const obstacle = findUnitObstacle(folder, dataDir, writeSystemctl(t, settings))
    if (expected === null) t.equal(obstacle, null, `${folder} ${JSON.stringify(settings)}`)
    else t.match(obstacle, expected, `${folder} ${JSON.stringify(settings)}`)
  }
  t.equal(findUnitObstacle('/mnt/copies', dataDir, '/no/systemctl'), null, 'without systemd')
})

t.test('a folder that root alone can write is named with its remedy', { skip: process.getuid?.() !== 0 }, async (t) => {
  const parent = createTemporaryFolder(t)
  chmodSync(parent, 0o711)
  const folder = join(parent, 'copies')
  mkdirSync(folder, { mode: 0o755 })
  const owner = { uid: 65_534, gid: 65_534 }
  t.match(findUserObstacle(folder, owner), /cannot be written by the user of the data folder; .*run: chown 65534:65534 /)
  t.equal(findUserObstacle('/tmp', owner), null)
  t.equal(findUserObstacle(folder, undefined), null)

  const serviceFolder = createTemporaryFolder(t)
  chownSync(serviceFolder, owner.uid, owner.gid)
  const config = testConfig(t, { store: { dataDir: serviceFolder }, backup: { to: folder } })
  t.match(await checkBackup(config), [{ what: 'backup', ok: false, detail: `run: chown 65534:65534 ${folder}` }])
  chownSync(folder, owner.uid, owner.gid)
  t.match(await checkBackup(config), [{ what: 'backup', ok: true }])
})

t.test('a read-only file system is described with what a unit needs', async (t) => {
  t.match(describeSystemError(Object.assign(new Error('EROFS'), { code: 'EROFS' })), /read-only.*ReadWritePaths=.*\(EROFS\)/)
})
