/** The packets of SFTP version 3 (draft-ietf-secsh-filexfer-02): numbers, encoding, and parsing of untrusted answers. */
import { WorkbenchError } from '../protocol/protocol.ts'
import type { RemoteFile } from '../protocol/results.ts'

export interface SftpResponse {
  readonly type: number
  readonly body: Buffer
}

interface Attributes {
  readonly size: number
  readonly mode: number
  readonly modified: number
}

export const packetType = {
  init: 1,
  version: 2,
  open: 3,
  close: 4,
  read: 5,
  write: 6,
  lstat: 7,
  opendir: 11,
  readdir: 12,
  remove: 13,
  mkdir: 14,
  rmdir: 15,
  realpath: 16,
  rename: 18,
  status: 101,
  handle: 102,
  data: 103,
  name: 104,
  extended: 200,
} as const

export const openFlag = { read: 1, write: 2, create: 8, truncate: 16 } as const
export const attributeFlag = { size: 1, owner: 2, permissions: 4, times: 8, extended: 0x8000_0000 } as const

const statusCode = { ok: 0, eof: 1, noSuchFile: 2, denied: 3 } as const

export function assertOkStatus(answer: SftpResponse): void {
  const cursor = new PacketReader(answer.body)
  const status = cursor.uint32()
  if (status === statusCode.ok || status === statusCode.eof) return
  const words = cursor.bytes().toString('utf8')
  if (status === statusCode.noSuchFile)
    throw new WorkbenchError('not_found', 'there is no such remote file', { details: { status } })
  const message = status === statusCode.denied ? 'the remote system denies it' : `the remote system refused: ${words}`
  throw new WorkbenchError('remote_io', message, { details: { status, message: words } })
}

export class PacketReader {
  readonly #data: Buffer
  #at = 0

  constructor(data: Buffer) {
    this.#data = data
  }

  get remainingBytes(): number {
    return this.#data.length - this.#at
  }

  uint32(): number {
    const value = this.#data.readUInt32BE(this.#at)
    this.#at += 4
    return value
  }

  uint64(): number {
    return this.uint32() * 2 ** 32 + this.uint32()
  }

  bytes(): Buffer {
    const length = this.uint32()
    const value = this.#data.subarray(this.#at, this.#at + length)
    this.#at += length
    return value
  }

  attributes(): Attributes {
    const flags = this.uint32()
    const size = flags & attributeFlag.size ? this.uint64() : 0
    if (flags & attributeFlag.owner) this.#at += 8
    const mode = flags & attributeFlag.permissions ? this.uint32() : 0
    let modifiedAt = 0
    if (flags & attributeFlag.times) {
      this.#at += 4
      modifiedAt = this.uint32()
    }
    if (flags & attributeFlag.extended) {
      for (let count = this.uint32(); count > 0; count -= 1) {
        this.bytes()
        this.bytes()
      }
    }
    return { size, mode, modified: modifiedAt }
  }
}

export function parseNames(answer: SftpResponse): { readonly name: Buffer; readonly attributes: Attributes }[] {
  const cursor = new PacketReader(answer.body)
  return Array.from({ length: cursor.uint32() }, () => {
    const name = Buffer.from(cursor.bytes())
    cursor.bytes() // the server's own "ls -l" line, which is for people
    return { name, attributes: cursor.attributes() }
  })
}

export function parseExtensions(data: Buffer): ReadonlySet<string> {
  const cursor = new PacketReader(data)
  const names = new Set<string>()
  while (cursor.remainingBytes > 0) {
    names.add(cursor.bytes().toString('utf8'))
    cursor.bytes()
  }
  return names
}

const fileTypesByMode: Readonly<Record<number, RemoteFile['type']>> = {
  0o100000: 'file',
  0o040000: 'directory',
  0o120000: 'link',
}

export function toFile(name: Buffer, attributes: Attributes): RemoteFile {
  const text = name.toString('utf8')
  const exact = Buffer.from(text).equals(name)
  return {
    name: text,
    ...(exact ? {} : { nameBase64: name.toString('base64') }),
    type: fileTypesByMode[attributes.mode & 0o170000] ?? 'other',
    size: attributes.size,
    mode: attributes.mode & 0o7777,
    modified: attributes.modified,
  }
}

export function encodeUint32(value: number): Buffer {
  const out = Buffer.alloc(4)
  out.writeUInt32BE(value >>> 0)
  return out
}

export function encodeUint64(value: number): Buffer {
  const out = Buffer.alloc(8)
  out.writeBigUInt64BE(BigInt(value))
  return out
}

export function encodeBytes(data: Buffer): Buffer {
  return Buffer.concat([encodeUint32(data.length), data])
}
