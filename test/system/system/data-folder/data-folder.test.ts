import { chmodSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { DataFolder } from '../../../../src/system/data-folder/data-folder.ts'
import { createTemporaryFolder, testConfig } from '../../../support/gateway/test-gateway.ts'
import { openGateway } from '../../../../src/server/serving-thread.ts'
import { openSqliteInstallation } from '../../../../src/server/installation/installation.ts'
import type { Services } from '../../../../src/services/services.ts'
import { systemClock } from '../../../../src/system/clock.ts'

const mode = (path: string): number => statSync(path).mode & 0o777

t.test('closes a folder that is open to everybody and leaves one that is open to a group', async (t) => {
  const path = join(createTemporaryFolder(t), 'data')
  t.equal(new DataFolder(path).prepare(), null)
  t.equal(mode(path), 0o700, 'a new one')
  for (const [before, after] of [
    [0o755, 0o700],
    [0o750, 0o750],
  ] as const) {
    chmodSync(path, before)
    t.equal(new DataFolder(path).prepare(), null)
    t.equal(mode(path), after)
  }
})

t.test('warns about a folder that is the current directory and leaves it open', async (t) => {
  const path = mkdtempSync(join(tmpdir(), 'svc-gateway-test-'))
  chmodSync(path, 0o755)
  const before = process.cwd()
  process.chdir(path)
  t.teardown(() => {
    process.chdir(before)
    rmSync(path, { recursive: true })
  })
  t.match(
    new DataFolder('.').prepare(),
    /is open to every user of this machine \(mode 755\); give the service a folder of its own/,
  )
  t.equal(mode(path), 0o755)
})

t.test('refuses to create a new database where one was lost; reports a new folder once', async (t) => {
  const config = testConfig(t, { log: { level: 'silent' } })
  const folder = new DataFolder(config.store.dataDir)
  const first = await openGateway({ config })
  t.equal(first.createdLocation, folder.path)
  await first.close()
  for (const harm of [() => writeFileSync(folder.database, ''), () => rmSync(folder.database)]) {
    harm()
    await t.rejects(openGateway({ config }), {
      name: 'OperatorError',
      message: `${folder.path} had an installation, but its gateway.db is missing or empty. Restore a backup (svc-gateway restore FILE), or name another folder in DATA_DIR.`,
    })
  }
})

t.test('reports system errors in a sentence', async (t) => {
  const config = testConfig(t, { log: { level: 'silent' } })
  const folder = new DataFolder(config.store.dataDir)
  mkdirSync(folder.database)
  await t.rejects(openGateway({ config }), {
    name: 'OperatorError',
    message: /gateway\.db cannot be written: it is a folder \(EISDIR\)/,
  })
})

t.test('a start repairs a secret that others may read, and writes it to the log', async (t) => {
  const config = testConfig(t, { log: { level: 'silent' } })
  const folder = new DataFolder(config.store.dataDir)
  await (await openGateway({ config })).close()
  chmodSync(folder.secret, 0o644)
  const warnings: unknown[] = []
  const log = { warn: (message: unknown) => warnings.push(message) }
  const { store } = await openSqliteInstallation({ config, folder, clock: systemClock, log: log as unknown as Services['log'] })
  t.teardown(() => store.close())
  t.equal(mode(folder.secret), 0o600)
  t.match(warnings, [/secret\.key could be read by other users of this machine \(mode 644\)/])
})
