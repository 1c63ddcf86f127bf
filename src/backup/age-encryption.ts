/**
 * Encryption with a passphrase in the age format, version 1 (https://age-encryption.org/v1), so that `age --decrypt` reads the files too.
 * scrypt makes a key of the passphrase; the content is a sequence of chunks that are authenticated one by one, with their position and
 * whether they are the last one. A changed, shortened or lengthened file is refused.
 */
import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes, scrypt, timingSafeEqual } from 'node:crypto'
import { OperatorError } from '../system/operator-error.ts'

const versionLine = 'age-encryption.org/v1'
const chunkBytes = 64 * 1024
const tagBytes = 16
/** 128 MiB of memory for less than a second. */
const defaultCostBits = 17
/** A file with a higher cost would take minutes and gigabytes; age itself refuses more than 22. */
const maxCostBits = 20
/** A header with one scrypt recipient has about 190 bytes. */
const maxHeaderBytes = 1024

interface EncryptOptions {
  /** Binary logarithm of scrypt's cost; a lower one is for tests. */
  readonly costBits?: number
}

/** Encrypts a stream. */
export async function* encryptStream(
  plain: AsyncIterable<Uint8Array>,
  passphrase: string,
  { costBits = defaultCostBits }: EncryptOptions = {},
): AsyncGenerator<Buffer> {
  const [fileKey, salt, nonce] = [randomBytes(16), randomBytes(16), randomBytes(16)]
  const wrappedKey = seal(await deriveWrapKey(passphrase, salt, costBits), Buffer.alloc(12), fileKey)
  const header = `${versionLine}\n-> scrypt ${toBase64(salt)} ${costBits}\n${toBase64(wrappedKey)}\n---`
  yield Buffer.concat([Buffer.from(`${header} ${toBase64(signHeader(fileKey, header))}\n`), nonce])
  const key = deriveKey(fileKey, nonce, 'payload')
  let index = 0
  for await (const { bytes, isLast } of splitChunks(plain, chunkBytes)) yield seal(key, createChunkNonce(index++, isLast), bytes)
}

/** Decrypts a stream. What it yields before it throws is authentic, but incomplete. @throws OperatorError */
export async function* decryptStream(encrypted: AsyncIterable<Uint8Array>, passphrase: string): AsyncGenerator<Buffer> {
  const iterator = encrypted[Symbol.asyncIterator]()
  try {
    const { header, rest } = await readHeader(iterator)
    const fileKey = await openHeader(header, passphrase)
    let pendingBytes = rest
    while (pendingBytes.length < 16) pendingBytes = Buffer.concat([pendingBytes, await readMore(iterator)])
    const key = deriveKey(fileKey, pendingBytes.subarray(0, 16), 'payload')
    let index = 0
    const payload = prepend(pendingBytes.subarray(16), iterator)
    for await (const { bytes, isLast } of splitChunks(payload, chunkBytes + tagBytes)) {
      const chunk = open(key, createChunkNonce(index++, isLast), bytes)
      if (chunk === null) throw createDamagedError()
      yield chunk
    }
  } finally {
    await iterator.return?.()
  }
}

interface Header {
  /** Up to and including `---`. */
  readonly signed: string
  readonly salt: Buffer
  readonly costBits: number
  readonly wrapped: Buffer
  readonly signature: Buffer
}

async function readHeader(iterator: AsyncIterator<Uint8Array>): Promise<{ readonly header: Header; readonly rest: Buffer }> {
  let bytes = Buffer.alloc(0)
  for (;;) {
    const end = bytes.indexOf('\n--- ')
    const lineEnd = end === -1 ? -1 : bytes.indexOf('\n', end + 1)
    if (lineEnd !== -1) return { header: parseHeader(bytes.toString('latin1', 0, lineEnd)), rest: bytes.subarray(lineEnd + 1) }
    if (bytes.length > maxHeaderBytes) throw createFormatError()
    bytes = Buffer.concat([bytes, await readMore(iterator)])
  }
}

function parseHeader(text: string): Header {
  const match = /^age-encryption\.org\/v1\n-> scrypt ([\w+/]{22}) ([1-9]\d?)\n([\w+/]{43})\n--- ([\w+/]{43})$/.exec(text) ?? []
  const [, salt, cost, wrappedText, signature] = match
  if (salt === undefined || cost === undefined || wrappedText === undefined || signature === undefined) throw createFormatError()
  const costBits = Number(cost)
  if (costBits > maxCostBits)
    throw new OperatorError(`The backup was encrypted with a cost of 2^${costBits}; at most 2^${maxCostBits} is accepted.`)
  const [saltBytes, wrappedBytes, signatureBytes] = [salt, wrappedText, signature].map((one) => Buffer.from(one, 'base64'))
  if (saltBytes === undefined || wrappedBytes === undefined || signatureBytes === undefined) throw createFormatError()
  return {
    signed: text.slice(0, text.lastIndexOf('---') + 3),
    salt: saltBytes,
    costBits,
    wrapped: wrappedBytes,
    signature: signatureBytes,
  }
}

/** Returns the key of the file. */
async function openHeader({ signed, salt, costBits, wrapped, signature }: Header, passphrase: string): Promise<Buffer> {
  const fileKey = open(await deriveWrapKey(passphrase, salt, costBits), Buffer.alloc(12), wrapped)
  if (fileKey === null)
    throw new OperatorError(
      'The backup cannot be decrypted: it was encrypted with another passphrase than that of backup.passphraseFile.',
    )
  if (!timingSafeEqual(signHeader(fileKey, signed), signature)) throw createDamagedError()
  return fileKey
}

function deriveWrapKey(passphrase: string, salt: Buffer, costBits: number): Promise<Buffer> {
  const [N, r, p] = [2 ** costBits, 8, 1]
  return new Promise((resolve, reject) => {
    const fullSalt = Buffer.concat([Buffer.from(`${versionLine}/scrypt`), salt])
    // Slightly more than 128 · N · r, which is what scrypt uses.
    scrypt(passphrase, fullSalt, 32, { N, r, p, maxmem: 130 * N * r + 1024 ** 2 }, (error, key) =>
      error === null ? resolve(key) : reject(error),
    )
  })
}

function deriveKey(fileKey: Buffer, salt: Uint8Array, info: string): Buffer {
  return Buffer.from(hkdfSync('sha256', fileKey, salt, info, 32))
}

function signHeader(fileKey: Buffer, header: string): Buffer {
  return createHmac('sha256', deriveKey(fileKey, Buffer.alloc(0), 'header'))
    .update(header)
    .digest()
}

/** Eleven bytes of the chunk's index, and one that is 1 for the last chunk. */
function createChunkNonce(index: number, isLast: boolean): Buffer {
  const nonce = Buffer.alloc(12)
  nonce.writeUIntBE(index, 5, 6)
  nonce[11] = isLast ? 1 : 0
  return nonce
}

function seal(key: Buffer, nonce: Buffer, plain: Uint8Array): Buffer {
  const cipher = createCipheriv('chacha20-poly1305', key, nonce, { authTagLength: tagBytes })
  return Buffer.concat([cipher.update(plain), cipher.final(), cipher.getAuthTag()])
}

/** Null if the bytes are not authentic. */
function open(key: Buffer, nonce: Buffer, sealed: Buffer): Buffer | null {
  if (sealed.length < tagBytes) return null
  const decipher = createDecipheriv('chacha20-poly1305', key, nonce, { authTagLength: tagBytes })
  decipher.setAuthTag(sealed.subarray(-tagBytes))
  const plain = decipher.update(sealed.subarray(0, -tagBytes))
  try {
    return Buffer.concat([plain, decipher.final()])
  } catch {
    return null
  }
}

/** Splits a stream into chunks of this size; the last one may be shorter, and is empty only if there is nothing else. */
export async function* splitChunks(
  source: AsyncIterable<Uint8Array>,
  size: number,
): AsyncGenerator<{ readonly bytes: Buffer; readonly isLast: boolean }> {
  const parts: Uint8Array[] = []
  let length = 0
  for await (const piece of source) {
    let from = 0
    while (length + piece.length - from > size) {
      const take = size - length
      parts.push(piece.subarray(from, from + take))
      yield { bytes: Buffer.concat(parts, size), isLast: false }
      parts.length = 0
      length = 0
      from += take
    }
    if (from < piece.length) parts.push(piece.subarray(from))
    length += piece.length - from
  }
  yield { bytes: Buffer.concat(parts, length), isLast: true }
}

async function readMore(iterator: AsyncIterator<Uint8Array>): Promise<Uint8Array> {
  const next = await iterator.next()
  if (next.done === true) throw createDamagedError()
  return next.value
}

async function* prepend(first: Uint8Array, iterator: AsyncIterator<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield first
  for (let next = await iterator.next(); next.done !== true; next = await iterator.next()) yield next.value
}

function createFormatError(): OperatorError {
  return new OperatorError('The backup is not a file that was encrypted with a passphrase in the age format.')
}

function createDamagedError(): OperatorError {
  return new OperatorError('The encrypted backup is damaged or incomplete.')
}

function toBase64(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64').replace(/=+$/, '')
}
