/**
 * Files in a tar archive, written and read as streams. The format is ustar, with GNU's binary sizes above 8 GiB, so that `tar` reads it.
 * Only plain files with short names are supported, which is what a backup consists of.
 */
import { OperatorError } from '../system/operator-error.ts'

const blockBytes = 512
/** Sizes above this do not fit into eleven octal digits. */
const maxOctalSize = 8 ** 11 - 1

export interface TarFile {
  readonly name: string
  readonly bytes: number
  readonly content: AsyncIterable<Uint8Array> | Iterable<Uint8Array>
}

/** @throws if a file has another length than its header states */
export async function* writeTar(files: AsyncIterable<TarFile> | Iterable<TarFile>, at: number): AsyncGenerator<Buffer> {
  for await (const { name, bytes, content } of files) {
    yield createHeader(name, bytes, at)
    let writtenBytes = 0
    for await (const piece of content) {
      writtenBytes += piece.length
      if (writtenBytes > bytes) break
      yield Buffer.from(piece.buffer, piece.byteOffset, piece.length)
    }
    if (writtenBytes !== bytes)
      throw new OperatorError(`${name} changed its length while it was copied; the next backup contains it.`)
    yield Buffer.alloc(padding(bytes))
  }
  yield Buffer.alloc(2 * blockBytes)
}

/** Calls `store` for each file; it must read the whole content. @throws OperatorError if the archive is damaged or incomplete */
export async function readTar(
  archive: AsyncIterable<Uint8Array>,
  store: (name: string, content: AsyncIterable<Buffer>) => Promise<void>,
): Promise<void> {
  const reader = new StreamReader(archive)
  try {
    for (;;) {
      const header = await reader.readBlock()
      // The end is two blocks of zeros.
      if (header.every((byte) => byte === 0)) break
      const { name, bytes } = parseHeader(header)
      await store(name, reader.readContent(bytes))
      await reader.skip(padding(bytes))
    }
    // Read to the end, so that a decryption authenticates the last chunk.
    await reader.drain()
  } finally {
    await reader.close()
  }
}

class StreamReader {
  readonly #iterator: AsyncIterator<Uint8Array>
  #rest: Buffer = Buffer.alloc(0)

  constructor(source: AsyncIterable<Uint8Array>) {
    this.#iterator = source[Symbol.asyncIterator]()
  }

  async readBlock(): Promise<Buffer> {
    const parts: Buffer[] = []
    for await (const part of this.readContent(blockBytes)) parts.push(part)
    return Buffer.concat(parts)
  }

  async *readContent(bytes: number): AsyncGenerator<Buffer> {
    for (let missingBytes = bytes; missingBytes > 0;) {
      if (this.#rest.length === 0) this.#rest = await this.#next()
      const part = this.#rest.subarray(0, missingBytes)
      this.#rest = this.#rest.subarray(part.length)
      missingBytes -= part.length
      yield part
    }
  }

  async skip(bytes: number): Promise<void> {
    for await (const _part of this.readContent(bytes));
  }

  async drain(): Promise<void> {
    while ((await this.#iterator.next()).done !== true);
  }

  async close(): Promise<void> {
    await this.#iterator.return?.()
  }

  async #next(): Promise<Buffer> {
    const { done, value } = await this.#iterator.next()
    if (done === true) throw new OperatorError('The archive of the backup is incomplete.')
    return Buffer.from(value.buffer, value.byteOffset, value.length)
  }
}

function createHeader(name: string, bytes: number, at: number): Buffer {
  const header = Buffer.alloc(blockBytes)
  if (Buffer.byteLength(name) > 100) throw new Error(`the name ${name} is too long for an archive`)
  header.write(name, 0)
  header.write('0000600\0', 100)
  header.write('0000000\0', 108)
  header.write('0000000\0', 116)
  if (bytes <= maxOctalSize) header.write(`${toOctal(bytes)}\0`, 124)
  else {
    header[124] = 0x80
    header.writeBigUInt64BE(BigInt(bytes), 128)
  }
  header.write(`${toOctal(Math.floor(at / 1000))}\0`, 136)
  // A plain file.
  header.write('0', 156)
  header.write('ustar\x0000', 257)
  header.write(`${sumHeader(header).toString(8).padStart(6, '0')}\0 `, 148)
  return header
}

function parseHeader(header: Buffer): { readonly name: string; readonly bytes: number } {
  const statedSum = Number.parseInt(header.toString('latin1', 148, 154), 8)
  if (statedSum !== sumHeader(header) || header.toString('latin1', 257, 262) !== 'ustar' || header[156] !== 0x30)
    throw new OperatorError('The archive of the backup is damaged.')
  const name = header.toString('utf8', 0, 100).replace(/\0.*$/s, '')
  const bytes =
    header[124] === 0x80 ? Number(header.readBigUInt64BE(128)) : Number.parseInt(header.toString('latin1', 124, 135), 8)
  if (!Number.isSafeInteger(bytes)) throw new OperatorError('The archive of the backup is damaged.')
  return { name, bytes }
}

/** The sum of the header's bytes, in which the field of the sum counts as spaces. */
function sumHeader(header: Buffer): number {
  return header.reduce((sum, byte, at) => sum + (at >= 148 && at < 156 ? 0x20 : byte), 0)
}

function toOctal(value: number): string {
  return value.toString(8).padStart(11, '0')
}

function padding(bytes: number): number {
  return (blockBytes - (bytes % blockBytes)) % blockBytes
}
