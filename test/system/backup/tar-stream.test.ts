/** Archives that `tar` reads, and damaged ones that are refused. */
import { spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { unpackArchive } from '../../../src/backup/archive-layout.ts'
import { readTar, writeTar } from '../../../src/backup/tar-stream.ts'
import { requireProgram } from '../../support/require-program.ts'
import { createTemporaryFolder } from '../../support/temporary-folder.ts'

const at = Date.parse('2026-11-28T14:30:00Z')

async function pack(files: Readonly<Record<string, Uint8Array>>): Promise<Buffer> {
  const entries = Object.entries(files).map(([name, bytes]) => ({ name, bytes: bytes.length, content: [bytes] }))
  const pieces: Buffer[] = []
  for await (const piece of writeTar(entries, at)) pieces.push(piece)
  return Buffer.concat(pieces)
}

async function* stream(bytes: Buffer, pieceBytes = 300): AsyncGenerator<Uint8Array> {
  for (let from = 0; from < bytes.length; from += pieceBytes) yield bytes.subarray(from, from + pieceBytes)
}

const files = {
  'gateway.db': randomBytes(5000),
  'gateway.db.files/secret.key': randomBytes(32),
  'gateway.db.files/images/ab/empty.png': Buffer.alloc(0),
  'gateway.db.files/images/ab/picture.png': randomBytes(512),
}

t.test('files are unpacked as they were', async (t) => {
  const folder = createTemporaryFolder(t)
  t.equal(await unpackArchive(stream(await pack(files)), folder), join(folder, 'gateway.db'))
  for (const [name, bytes] of Object.entries(files)) t.ok(readFileSync(join(folder, name)).equals(bytes), name)
})

t.test('tar lists and unpacks an archive', async (t) => {
  const tar = requireProgram(t, 'tar')
  if (tar === undefined) return
  const folder = createTemporaryFolder(t)
  writeFileSync(join(folder, 'archive.tar'), await pack(files))
  const { stderr, status } = spawnSync(tar, ['xf', 'archive.tar'], { cwd: folder, encoding: 'utf8' })
  t.same([status, stderr], [0, ''])
  for (const [name, bytes] of Object.entries(files)) t.ok(readFileSync(join(folder, name)).equals(bytes), name)
})

t.test('a size above 8 GiB is written as tar reads it', async (t) => {
  const tar = requireProgram(t, 'tar')
  if (tar === undefined) return
  const bytes = 9 * 1024 ** 3
  const [header] = await writeTar([{ name: 'gateway.db', bytes, content: [] }], at)
    .next()
    .then(({ value }) => [value as Buffer])
  const { stdout } = spawnSync(tar, ['tvf', '-'], { input: header, encoding: 'utf8' })
  t.match(stdout, new RegExp(` ${bytes} .* gateway\\.db`))
  await t.rejects(
    readTar(stream(header ?? Buffer.alloc(0)), async (_name, content) => {
      for await (const _ of content);
    }),
    { message: /incomplete/ },
  )
})

t.test('a damaged archive, and names outside of a backup, are refused', async (t) => {
  const whole = await pack(files)
  const damaged = Buffer.from(whole)
  damaged.writeUInt8(damaged.readUInt8(3) ^ 1, 3)
  const cases: Record<string, Buffer> = {
    'a changed header': damaged,
    'an incomplete file': whole.subarray(0, 2000),
    'no end': whole.subarray(0, -1024),
    'no database': await pack({ 'gateway.db.files/secret.key': Buffer.from('x') }),
    nothing: Buffer.alloc(0),
  }
  for (const name of [
    '../gateway.db',
    '/etc/passwd',
    'gateway.db.files/images/../../x',
    'gateway.db.files/images/..',
    'gateway.db-wal',
    'other',
  ])
    cases[name] = await pack({ 'gateway.db': Buffer.from('x'), [name]: Buffer.from('x') })
  for (const [name, bytes] of Object.entries(cases))
    await t.rejects(unpackArchive(stream(bytes), createTemporaryFolder(t)), { name: 'OperatorError' }, name)
})

t.test('a file that changes its length while it is written is an error', async (t) => {
  for (const content of [[Buffer.alloc(9)], [Buffer.alloc(11)], []]) {
    const archive = async () => {
      for await (const _ of writeTar([{ name: 'a', bytes: 10, content }], at));
    }
    await t.rejects(archive(), { message: /changed its length/ })
  }
})
