/** Backups in the storage of the configuration: written, listed, drilled and restored, in a folder and in a bucket. */
import { spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { Test } from 'tap'
import { checkBackup } from '../../../../../src/operator/commands/doctor/check-backup.ts'
import { createOperatorCli } from '../../../../support/gateway/operator-cli.ts'
import type { RunOperatorCommand } from '../../../../support/gateway/operator-cli.ts'
import { startGateway, testConfig } from '../../../../support/gateway/test-gateway.ts'
import type { TestGateway } from '../../../../support/gateway/test-gateway.ts'
import { requireProgram } from '../../../../support/require-program.ts'
import { startS3Server } from '../../../../support/servers/s3-server.ts'
import { createTemporaryFolder } from '../../../../support/temporary-folder.ts'

const bigBytes = 17 * 1024 * 1024
const passphrase = 'correct horse battery staple'

/** Returns standard output; throws standard error. */
async function operate(run: RunOperatorCommand, ...words: string[]): Promise<string> {
  const { code, stdout, stderr } = await run(...words)
  if (code !== 0) throw new Error(stderr || stdout)
  return stdout
}

function writePassphrase(t: Test): string {
  const file = join(createTemporaryFolder(t), 'passphrase')
  writeFileSync(file, `${passphrase}\n`, { mode: 0o600 })
  return file
}

/** A server with a turn, a secret and an image. */
async function startUsedGateway(t: Test): Promise<TestGateway> {
  const g = await startGateway(t)
  const { token } = await g.createMember()
  await (await g.chat(token)).text()
  await (await g.chat(token, { model: 'svc-img' })).text()
  return g
}

/** Restores the newest backup into an empty folder, starts it, and compares. */
async function testRestore(t: Test, g: TestGateway, backup: object, { hasSecret }: { hasSecret: boolean }): Promise<void> {
  const before = await g.listTurns()
  const secret = readFileSync(join(g.config.store.dataDir, 'secret.key'))
  await g.close()
  const fresh = join(createTemporaryFolder(t), 'data')
  const restored = await operate(createOperatorCli(t, fresh, { backup }), 'restore', 'latest')
  t.match(restored, hasSecret ? /Its secret and 1 image are back/ : /Its 1 image is back. No secret came with it/)
  t.equal(existsSync(join(fresh, 'restore-staging')), false)
  t.equal(hasSecret && !readFileSync(join(fresh, 'secret.key')).equals(secret), false)
  t.equal(readdirSync(join(fresh, 'images'), { recursive: true }).filter((name) => /\.\w+$/.test(String(name))).length, 1)
  if (!hasSecret) writeFileSync(join(fresh, 'secret.key'), secret, { mode: 0o600 })
  const again = await startGateway(t, { store: { dataDir: fresh } })
  t.same(await again.listTurns(), before)
}

t.test('a backup in a folder is verified, has a digest, and restores on another machine', async (t) => {
  const g = await startUsedGateway(t)
  const [to, dataDir] = [createTemporaryFolder(t), g.config.store.dataDir]
  const backup = { to }
  const cli = createOperatorCli(t, dataDir, { backup })
  t.match(await operate(cli, 'backup', 'list'), /There is no verified backup/)
  t.match(await operate(cli, 'backup'), /was written to .* and read back[^]*1 image, and not the secret/)
  const [name = '', digest = ''] = readdirSync(to).sort()
  t.match(name, /^svc-gateway-.*\.tar$/)
  t.equal(digest, `${name}.sha256`)
  for (const file of readdirSync(to)) t.equal(statSync(join(to, file)).mode & 0o777, 0o600, file)
  t.equal(spawnSync('sha256sum', ['--check', digest], { cwd: to }).status, 0)
  t.notOk(existsSync(join(dataDir, 'backup-staging')))
  t.match(await operate(cli, 'backup', 'list'), new RegExp(name))
  t.match(await operate(cli, 'backup', 'drill'), /can be restored: 1 account, 2 turns, 1 image; the ledger adds up/)
  await testRestore(t, g, backup, { hasSecret: false })
})

t.test('an encrypted backup has the secret, and opens with the passphrase alone', async (t) => {
  const g = await startUsedGateway(t)
  const to = createTemporaryFolder(t)
  const backup = { to, passphraseFile: writePassphrase(t) }
  const cli = createOperatorCli(t, g.config.store.dataDir, { backup })
  t.match(await operate(cli, 'backup'), /the secret and 1 image/)
  const [name = ''] = readdirSync(to).sort()
  t.match(name, /\.tar\.age$/)
  const stored = readFileSync(join(to, name))
  for (const plain of ['SQLite format 3', 'gateway.db']) t.notOk(stored.includes(plain), plain)
  t.notOk(stored.includes(readFileSync(join(g.config.store.dataDir, 'secret.key'))))

  const other = join(createTemporaryFolder(t), 'passphrase')
  writeFileSync(other, 'another passphrase of this length')
  await t.rejects(operate(cli, 'backup', 'drill', '--passphrase-file', other), { message: /encrypted with another passphrase/ })
  t.match(await operate(cli, 'backup', 'drill'), /can be restored/)

  const [age, script, tar] = [requireProgram(t, 'age'), requireProgram(t, 'script'), requireProgram(t, 'tar')]
  if (age !== undefined && script !== undefined && tar !== undefined) {
    const folder = createTemporaryFolder(t)
    spawnSync(script, ['-qec', `${age} -d -o archive.tar ${join(to, name)}`, '/dev/null'], {
      cwd: folder,
      input: `${passphrase}\n`,
    })
    t.equal(spawnSync(tar, ['xf', 'archive.tar'], { cwd: folder }).status, 0, 'age and tar unpack it')
    const fresh = join(createTemporaryFolder(t), 'data')
    t.match(await operate(createOperatorCli(t, fresh), 'restore', join(folder, 'gateway.db')), /Its secret and 1 image are back/)
  }
  const fresh = join(createTemporaryFolder(t), 'data')
  await t.rejects(operate(createOperatorCli(t, fresh), 'restore', join(to, name)), { message: /is encrypted: name the file/ })
  t.match(
    await operate(createOperatorCli(t, fresh), 'restore', join(to, name), '--passphrase-file', backup.passphraseFile),
    /Its secret and 1 image are back/,
  )
  await testRestore(t, g, backup, { hasSecret: true })
})

t.test('in a bucket', async (t) => {
  const s3 = await startS3Server(t)
  if (s3 === undefined) return
  await t.test('a backup is written, thinned, drilled and restored', async (t) => {
    const g = await startUsedGateway(t)
    // More than one part, which has 16 MiB.
    mkdirSync(join(g.config.store.dataDir, 'images', 'ff'), { recursive: true })
    const big = join(g.config.store.dataDir, 'images', 'ff', 'big.png')
    writeFileSync(big, randomBytes(bigBytes))
    const backup = { to: s3.bucket, passphraseFile: writePassphrase(t) }
    const cli = createOperatorCli(t, g.config.store.dataDir, { backup })
    // Of the past: an old backup, the archive of an interrupted one, and an upload that was not completed.
    const key = (name: string): string => `/copies/${s3.bucket.prefix}/${name}`
    const old = 'svc-gateway-2020-01-01T00-00-00-000Z.tar'
    const interrupted = 'svc-gateway-2020-02-01T00-00-00-000Z.tar'
    for (const name of [old, `${old}.sha256`, interrupted]) await s3.request(key(name), { method: 'PUT', body: 'x' })
    await s3.request('/copies/elsewhere', { method: 'PUT', body: 'of someone else' })

    t.match(await operate(cli, 'backup'), /is|1 older backup deleted/)
    const listed = await (await s3.request('/copies?list-type=2')).text()
    const keys = [...listed.matchAll(/<Key>([^<]+)/g)].map(([, found = '']) => found)
    t.equal(keys.length, 3)
    t.match(keys, [/^elsewhere$/, /^gateway\/one\/svc-gateway-.*\.tar\.age$/, /\.tar\.age\.sha256$/])
    const stored = await (await s3.request(`/${'copies'}/${keys[1]}`)).bytes()
    t.ok(stored.length > bigBytes)
    t.match(await operate(cli, 'backup', 'drill'), /2 turns, 2 images; the ledger adds up/)

    rmSync(big)
    t.match(await operate(cli, 'backup'), /and 1 image/)
    t.equal(JSON.parse(await operate(cli, 'backup', 'list', '--json')).backups.length, 2)
    await testRestore(t, g, backup, { hasSecret: true })
  })

  await t.test('wrong credentials and a missing bucket are named, and the secret key is not', async (t) => {
    const g = await startGateway(t)
    for (const [change, message] of [
      [{ accessKeyId: 'AKIAUNKNOWN' }, /No backup was written: .*s3:\/\/copies\/gateway\/one.* the credentials are wrong/],
      [{ secretAccessKey: 'a-wrong-secret' }, /the credentials are wrong/],
      [{ bucket: 'missing' }, /there is no such bucket/],
      [{ endpoint: 'http://127.0.0.1:9' }, /127\.0\.0\.1:9 cannot be reached/],
    ] as const) {
      const to = { ...s3.bucket, ...change }
      const cli = createOperatorCli(t, g.config.store.dataDir, { backup: { to } })
      const { code, stderr } = await cli('backup')
      t.equal(code, 1)
      t.match(stderr, message)
      t.notMatch(stderr, new RegExp(to.secretAccessKey.replaceAll(/[+/]/g, '.')))
      t.ok((await checkBackup(testConfig(t, { backup: { to } }))).some(({ ok }) => !ok))
    }
  })
})

t.test('doctor reports a folder without room for the first backup', async (t) => {
  const [dataDir, to] = [createTemporaryFolder(t), createTemporaryFolder(t)]
  const config = testConfig(t, { backup: { to }, store: { dataDir } })
  const database = join(dataDir, 'gateway.db')
  writeFileSync(database, '')
  t.match(await checkBackup(config), [{ ok: true, detail: /has no backup yet/ }])
  // It has this size without the room.
  truncateSync(database, 2 ** 43)
  t.match(await checkBackup(config), [
    { ok: true },
    { ok: false, detail: /MiB free, and a backup needs 8388608\.0 MiB: make room/ },
  ])
})
