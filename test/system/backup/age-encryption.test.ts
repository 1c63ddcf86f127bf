/** The age format: files of age itself are read, age reads ours, and a changed file is refused. */
import { spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { readFileSync, writeFileSync } from 'node:fs'
import t from 'tap'
import { decryptStream, encryptStream } from '../../../src/backup/age-encryption.ts'
import { requireProgram } from '../../support/require-program.ts'
import { createTemporaryFolder } from '../../support/temporary-folder.ts'

const passphrase = 'correct horse battery staple'
const options = { costBits: 4 }
const chunkBytes = 64 * 1024

async function* stream(bytes: Uint8Array, pieceBytes = 10_000): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += pieceBytes) yield bytes.subarray(at, at + pieceBytes)
}

async function collect(source: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const pieces: Uint8Array[] = []
  for await (const piece of source) pieces.push(piece)
  return Buffer.concat(pieces)
}

const encrypt = (plain: Uint8Array) => collect(encryptStream(stream(plain), passphrase, options))

t.test('a stream of any length is decrypted to what it was', async (t) => {
  for (const length of [0, 1, chunkBytes - 1, chunkBytes, chunkBytes + 1, 3 * chunkBytes, 200_000]) {
    const plain = randomBytes(length)
    const encrypted = await encrypt(plain)
    t.ok((await collect(decryptStream(stream(encrypted, 777), passphrase))).equals(plain), `${length} bytes`)
    t.notOk(length > 16 && encrypted.includes(plain.subarray(0, 16)))
  }
})

t.test('a changed, shortened, lengthened or reordered file is refused', async (t) => {
  const encrypted = await encrypt(Buffer.alloc(3 * chunkBytes, 'secret'))
  const payload = encrypted.length - 3 * (chunkBytes + 16)
  const flip = (at: number): Buffer => {
    const copy = Buffer.from(encrypted)
    copy.writeUInt8(copy.readUInt8(at) ^ 1, at)
    return copy
  }
  const chunk = (index: number): Buffer =>
    encrypted.subarray(payload + index * (chunkBytes + 16), payload + (index + 1) * (chunkBytes + 16))
  const head = encrypted.subarray(0, payload)
  const cases: Record<string, Buffer> = {
    'a changed byte of content': flip(payload + 100),
    'a changed last byte': flip(encrypted.length - 1),
    'a changed nonce': flip(payload - 1),
    'a changed signature of the header': flip(payload - 30),
    'the last chunk missing': encrypted.subarray(0, -(chunkBytes + 16)),
    'half of a chunk missing': encrypted.subarray(0, -1000),
    'one byte more': Buffer.concat([encrypted, Buffer.from('x')]),
    'chunks in another order': Buffer.concat([head, chunk(1), chunk(0), chunk(2)]),
    'a chunk twice': Buffer.concat([head, chunk(0), chunk(0), chunk(1), chunk(2)]),
    'only a header': head,
    'half of a header': encrypted.subarray(0, 50),
    'another file': Buffer.from('SQLite format 3\0'.repeat(100)),
    nothing: Buffer.alloc(0),
  }
  for (const [name, bytes] of Object.entries(cases))
    await t.rejects(collect(decryptStream(stream(bytes), passphrase)), { name: 'OperatorError' }, name)
  await t.rejects(collect(decryptStream(stream(encrypted), 'another passphrase')), { message: /another passphrase/ })
  const expensive = Buffer.from(encrypted.toString('latin1').replace(/^(-> scrypt \S+) 4$/m, '$1 30'), 'latin1')
  await t.rejects(collect(decryptStream(stream(expensive), passphrase)), { message: /at most 2\^20/ })
})

t.test('a file that age wrote is decrypted', async (t) => {
  const encrypted = Buffer.from(
    'YWdlLWVuY3J5cHRpb24ub3JnL3YxCi0+IHNjcnlwdCA1dUhMVnc4RHZGUGZ0VEpoTHFFQXd3IDE4CjBZZ2FjSVlLeWdEdjdyMlhuSXVOWk1neFR2RnI2eEt2TnA4QXJ1a1JDdm8KLS0tIGpobWwzZmh6WkdsejVoNjFHVy9xdm1JdG9ObVg3ZWFJUmlJRjg3cFB1azAKRndR1yEX1c5dZD8strXbs9qlQyO3O4KhCgww+TcYYOd9K3otWI8A/FP33qZqEMg=',
    'base64',
  )
  t.equal((await collect(decryptStream(stream(encrypted), passphrase))).toString(), 'hello from age\n')
})

t.test('age decrypts our files', async (t) => {
  const age = requireProgram(t, 'age')
  const script = requireProgram(t, 'script')
  if (age === undefined || script === undefined) return
  const folder = createTemporaryFolder(t)
  const plain = randomBytes(2 * chunkBytes + 5)
  writeFileSync(join(folder, 'sealed.age'), await encrypt(plain))
  // age reads a passphrase from a terminal only.
  const { stdout } = spawnSync(script, ['-qec', `${age} -d -o plain sealed.age`, '/dev/null'], {
    cwd: folder,
    input: `${passphrase}\n`,
    encoding: 'utf8',
  })
  t.ok(readFileSync(join(folder, 'plain')).equals(plain), stdout)
})
