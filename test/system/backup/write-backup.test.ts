/** What remains when a backup fails or is killed: the backups before it and the data. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createHash, randomBytes } from 'node:crypto'
import { copyFileSync, existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import t from 'tap'
import type { Test } from 'tap'
import { fetchBackup } from '../../../src/backup/fetch-backup.ts'
import { FolderStorage } from '../../../src/backup/storage/folder-storage.ts'
import { listBackups } from '../../../src/backup/stored-backups.ts'
import { writeBackup } from '../../../src/backup/write-backup.ts'
import { backupSchema } from '../../../src/config/schema/backup-schema.ts'
import { noCompanions, restoreFile } from '../../../src/store/sqlite/maintenance/restore.ts'
import { addAccount, createSettleOrder, noon, readBalance, reserveHold } from '../../support/store/contract/store-contract.ts'
import { openStoreAt } from '../../support/store/sqlite/support.ts'
import { createTemporaryFolder } from '../../support/temporary-folder.ts'

const dayMs = 86_400_000

/** A data folder with a settled turn and images. */
async function createData(t: Test): Promise<string> {
  const dataDir = createTemporaryFolder(t)
  const store = await openStoreAt(t, join(dataDir, 'gateway.db'))
  await addAccount(store)
  await store.ledger.settle(createSettleOrder((await reserveHold(store)).id, 30))
  await store.close()
  writeFileSync(join(dataDir, 'secret.key'), randomBytes(32), { mode: 0o600 })
  mkdirSync(join(dataDir, 'images', 'ab', 'cd'), { recursive: true })
  for (let index = 0; index < 20; index++)
    writeFileSync(join(dataDir, 'images', 'ab', 'cd', `${index}.png`), randomBytes(200_000))
  return dataDir
}

function createSettings(change: object) {
  const settings = backupSchema.parse(change)
  if (settings === null) throw new Error('there are no settings')
  return settings
}

function writePassphrase(t: Test): string {
  const file = join(createTemporaryFolder(t), 'passphrase')
  writeFileSync(file, 'correct horse battery staple\n')
  return file
}

/** Runs a program that prints a line for each operation of the file system, and kills it after so many of them. */
async function runUntil(
  killAt: number,
  program: string,
  ...words: readonly string[]
): Promise<{ readonly operations: number; readonly isKilled: boolean }> {
  const child = spawn(process.execPath, [join(import.meta.dirname, program), ...words], { stdio: ['ignore', 'pipe', 'inherit'] })
  const closed = once(child, 'close')
  let operations = 0
  child.stdout.on('data', (piece: Buffer) => {
    operations += piece.toString().split('\n').length - 1
    if (operations > killAt) child.kill('SIGKILL')
  })
  const [code] = (await closed) as [number | null]
  if (code !== null && code !== 0) throw new Error(`${program} ended with ${code}`)
  return { operations, isKilled: code === null }
}

const hash = (file: string): string => createHash('sha256').update(readFileSync(file)).digest('hex')

t.test('a killed backup leaves the data, the backups before it, and no half one that counts', async (t) => {
  const dataDir = await createData(t)
  const to = createTemporaryFolder(t)
  const passphraseFile = writePassphrase(t)
  const settings = createSettings({ to, passphraseFile, keep: { days: 1, weeks: 0, months: 0 } })
  // Thinning deletes the first of these whenever a later one has been written.
  const before = await writeBackup({ settings, dataDir, at: noon, costBits: 4 })
  const data = hash(join(dataDir, 'gateway.db'))
  const storage = new FolderStorage(to)
  let [killed, written] = [0, 0]
  const run = (round: number, killAt: number) =>
    runUntil(killAt, 'write-backup-process.ts', JSON.stringify({ settings, dataDir, at: noon + round * dayMs, costBits: 4 }))
  const { operations } = await run(1, Infinity)
  for (let round = 2; round <= 9; round++) {
    const killAt = Math.floor(Math.random() * operations)
    const { isKilled } = await run(round, killAt)
    if (isKilled) killed++
    else written++
    t.comment(`killed at operation ${killAt} of ${operations}`)
    t.equal(hash(join(dataDir, 'gateway.db')), data, 'the data is as it was')
    const [newest] = await listBackups(storage)
    t.ok(newest !== undefined && newest.at >= before.at)
    if (newest === undefined) continue
    const into = createTemporaryFolder(t)
    const database = await fetchBackup(storage, newest.name, { passphraseFile, into })
    t.equal(readdirSync(join(into, 'gateway.db.files', 'images', 'ab', 'cd')).length, 20)
    await restoreFile({ from: database, to: join(into, 'restored.db'), at: noon, companions: noCompanions })
  }
  t.ok(killed > 0, `${killed} were killed, ${written} ended`)
  // The next one works, and deletes what the killed ones left.
  await writeBackup({ settings, dataDir, at: noon + 40 * dayMs, costBits: 4 })
  t.notOk(existsSync(join(dataDir, 'backup-staging')))
  t.equal((await listBackups(storage)).length, 1)
})

t.test('a killed restore leaves the data or the backup in its place, and can be repeated', async (t) => {
  const dataDir = await createData(t)
  const folder = createTemporaryFolder(t)
  const backup = join(folder, 'backup.db')
  copyFileSync(join(dataDir, 'gateway.db'), backup)
  const target = createTemporaryFolder(t)
  const to = join(target, 'gateway.db')
  copyFileSync(backup, to)
  const { operations } = await runUntil(Infinity, 'restore-process.ts', backup, to)
  for (let round = 0; round < 5; round++) {
    const killAt = Math.floor(Math.random() * operations)
    await runUntil(killAt, 'restore-process.ts', backup, to)
    t.comment(`killed at operation ${killAt} of ${operations}`)
    t.ok(
      readdirSync(target).some((name) => /^gateway\.db(?:\.before-restore-\d+)?$/.test(name)),
      'a whole database is there',
    )
  }
  await restoreFile({ from: backup, to, at: noon, companions: noCompanions })
  t.match(await readBalance(await openStoreAt(t, to)), { used: [30, 30, 30] })
})

t.test('a full bucket is named, and the backups before it stay', async (t) => {
  const dataDir = await createData(t)
  const objects = new Map<string, Buffer>()
  let isFull = false
  const server = createServer((request, response) => {
    const pieces: Buffer[] = []
    request.on('data', (piece: Buffer) => pieces.push(piece))
    request.on('end', () => {
      const url = new URL(request.url ?? '', 'http://bucket')
      if (request.method === 'PUT') {
        if (isFull) {
          response.writeHead(403).end('<Error><Code>QuotaExceeded</Code><Message>of a secret</Message></Error>')
          return
        }
        objects.set(url.pathname, Buffer.concat(pieces))
      }
      if (request.method === 'DELETE') objects.delete(url.pathname)
      const found = objects.get(url.pathname)
      if (request.method === 'GET' && url.searchParams.has('list-type')) {
        const items = [...objects].map(
          ([key, { length }]) => `<Contents><Key>${key.slice('/copies/'.length)}</Key><Size>${length}</Size></Contents>`,
        )
        response.end(`<ListBucketResult>${items.join('')}</ListBucketResult>`)
      } else response.end(request.method === 'GET' ? found : '')
    })
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.teardown(() => server.close())
  const { port } = server.address() as AddressInfo
  const to = { bucket: 'copies', endpoint: `http://127.0.0.1:${port}`, accessKeyId: 'key', secretAccessKey: 'secret' }
  const settings = createSettings({ to })
  await writeBackup({ settings, dataDir, at: noon })
  const before = new Map(objects)
  t.equal(before.size, 2)
  isFull = true
  await t.rejects(writeBackup({ settings, dataDir, at: noon + dayMs }), {
    name: 'OperatorError',
    message:
      'No backup was written: s3://copies/ cannot be written: the bucket is full (QuotaExceeded); make room or raise its quota.',
  })
  t.same(objects, before)
})

t.test('a storage that returns other bytes than were written gets no backup', async (t) => {
  const dataDir = await createData(t)
  const to = createTemporaryFolder(t)
  const settings = createSettings({ to })
  const read = FolderStorage.prototype.read
  t.teardown(() => void (FolderStorage.prototype.read = read))
  FolderStorage.prototype.read = async function* (name) {
    let isFirst = true
    for await (const piece of read.call(this, name)) {
      const changed = Buffer.from(piece)
      if (isFirst) changed.writeUInt8(changed.readUInt8(600) ^ 1, 600)
      isFirst = false
      yield changed
    }
  }
  await t.rejects(writeBackup({ settings, dataDir, at: noon }), { message: /returned something else than was written/ })
  t.same(readdirSync(to), [])
})

t.test('a missing folder, a short passphrase and a second backup at the same time are refused', async (t) => {
  const dataDir = await createData(t)
  const missing = join(createTemporaryFolder(t), 'not-mounted')
  await t.rejects(writeBackup({ settings: createSettings({ to: missing }), dataDir, at: noon }), {
    message: /The folder .*not-mounted does not exist. Create it, or mount the disk that it is on/,
  })
  t.notOk(existsSync(missing))
  const short = join(createTemporaryFolder(t), 'short')
  writeFileSync(short, 'password\n')
  const to = createTemporaryFolder(t)
  await t.rejects(writeBackup({ settings: createSettings({ to, passphraseFile: short }), dataDir, at: noon }), {
    message: /one line of at least 16 characters/,
  })
  const settings = createSettings({ to })
  const results = await Promise.allSettled([
    writeBackup({ settings, dataDir, at: noon }),
    writeBackup({ settings, dataDir, at: noon + 1 }),
  ])
  t.same(results.map(({ status }) => status).sort(), ['fulfilled', 'rejected'])
  t.match(
    results.find(({ status }) => status === 'rejected'),
    { reason: { message: /another one is being written/ } },
  )
})
