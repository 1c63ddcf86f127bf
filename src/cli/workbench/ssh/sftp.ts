/**
 * The file protocol of ssh (SFTP version 3, draft-ietf-secsh-filexfer-02), spoken with a server reached by any command that
 * connects its standard input and output to one. Paths are bytes: a remote name need not be UTF-8.
 */
import type { ChildProcess } from 'node:child_process'
import { spawn } from 'node:child_process'
import { WorkbenchError } from '../protocol.ts'
import type { RemoteFile } from '../results.ts'

export class Sftp {
  readonly #child: ChildProcess
  readonly #waiting = new Map<number, { resolve: (answer: Answer) => void; reject: (error: Error) => void }>()
  readonly #version = Promise.withResolvers<ReadonlySet<string>>()
  #received: Buffer = Buffer.alloc(0)
  #next = 1
  #words = ''
  #ended = false
  #silent = false
  #patience: NodeJS.Timeout | undefined
  readonly #onEnd: () => void
  readonly #silentMs: number

  /** `silentMs` is how long the server may say nothing while it is asked something. */
  constructor(argv: readonly string[], env: Readonly<Record<string, string>>, onEnd: () => void, silentMs = 45_000) {
    this.#onEnd = onEnd
    this.#silentMs = silentMs
    const [program = 'ssh', ...args] = argv
    this.#child = spawn(program, args, { env: { ...env }, stdio: ['pipe', 'pipe', 'pipe'] })
    this.#version.promise.catch(() => undefined)
    this.#child.stdout?.on('data', (chunk: Buffer) => this.#receive(chunk))
    this.#child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.#words = (this.#words + text).slice(-2_000)
    })
    this.#child.stdin?.on('error', () => undefined)
    this.#child.on('error', () => this.#end()).on('close', () => this.#end())
    this.#send(Buffer.concat([Buffer.of(packetType.init), uint32(3)]))
    this.#wait()
  }

  /** The server's extensions; the first thing to await, because it proves that there is a server. */
  ready(): Promise<ReadonlySet<string>> {
    return this.#version.promise
  }

  async realpath(path: Buffer): Promise<Buffer> {
    const [entry] = names(await this.#ask(packetType.realpath, bytes(path)))
    if (!entry) throw new WorkbenchError('remote_io', 'the server did not name the path')
    return entry.name
  }

  async stat(path: Buffer): Promise<RemoteFile> {
    const answer = await this.#ask(packetType.lstat, bytes(path))
    const name = path.subarray(path.lastIndexOf(slash) + 1)
    return toFile(name.length === 0 ? path : name, new Cursor(answer.body).attributes())
  }

  async list(path: Buffer): Promise<readonly RemoteFile[]> {
    const handle = await this.#handle(packetType.opendir, bytes(path))
    const files: RemoteFile[] = []
    try {
      while (files.length <= mostEntries) {
        const answer = await this.#ask(packetType.readdir, handle)
        if (answer.type === packetType.status) break
        for (const entry of names(answer)) {
          if (entry.name.equals(dot) || entry.name.equals(dotDot)) continue
          files.push(toFile(entry.name, entry.attributes))
        }
      }
    } finally {
      await this.#ask(packetType.close, handle)
    }
    if (files.length > mostEntries) throw new WorkbenchError('remote_io', `the directory has more than ${mostEntries} entries`)
    return files.sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0))
  }

  /** At most `length` bytes from `offset`; `end` when there is nothing after them. */
  async read(path: Buffer, offset: number, length: number): Promise<{ data: Buffer; end: boolean }> {
    const handle = await this.#handle(packetType.open, bytes(path), uint32(openFlag.read), uint32(0))
    try {
      // All pieces are asked for at once; a server may answer any of them with less.
      const wanted = Array.from({ length: Math.ceil(length / pieceBytes) }, (_, i) => i * pieceBytes)
      const answers = await Promise.all(
        wanted.map((start) => this.#readPiece(handle, offset + start, Math.min(pieceBytes, length - start))),
      )
      const pieces: Buffer[] = []
      for (const [i, piece] of answers.entries()) {
        pieces.push(piece.data)
        const asked = Math.min(pieceBytes, length - i * pieceBytes)
        if (piece.end) return { data: Buffer.concat(pieces), end: true }
        if (piece.data.length < asked) return await this.#short(handle, offset, Buffer.concat(pieces))
      }
      return { data: Buffer.concat(pieces), end: false }
    } finally {
      await this.#ask(packetType.close, handle)
    }
  }

  async write(path: Buffer, offset: number, data: Buffer, options: { truncate?: boolean; mode?: number } = {}): Promise<void> {
    const flags = openFlag.write | openFlag.create | (options.truncate === true ? openFlag.truncate : 0)
    const attributes =
      options.mode === undefined ? uint32(0) : Buffer.concat([uint32(attributeFlag.permissions), uint32(options.mode)])
    const handle = await this.#handle(packetType.open, bytes(path), uint32(flags), attributes)
    try {
      const starts = Array.from({ length: Math.ceil(data.length / pieceBytes) }, (_, i) => i * pieceBytes)
      await Promise.all(
        starts.map((start) =>
          this.#ask(packetType.write, handle, uint64(offset + start), bytes(data.subarray(start, start + pieceBytes))),
        ),
      )
    } finally {
      await this.#ask(packetType.close, handle)
    }
  }

  async mkdir(path: Buffer): Promise<void> {
    await this.#ask(packetType.mkdir, bytes(path), uint32(0))
  }

  /** With `replace` an existing target gives way, as `mv` does, where the server can do that in one step. */
  async rename(from: Buffer, to: Buffer, replace: boolean): Promise<void> {
    const extensions = await this.ready()
    if (replace && extensions.has(posixRename)) {
      await this.#ask(packetType.extended, bytes(Buffer.from(posixRename)), bytes(from), bytes(to))
      return
    }
    await this.#ask(packetType.rename, bytes(from), bytes(to))
  }

  /** A file, a link (not what it points to) or an empty directory. */
  async remove(path: Buffer): Promise<void> {
    const { type } = await this.stat(path)
    await this.#ask(type === 'directory' ? packetType.rmdir : packetType.remove, bytes(path))
  }

  close(): void {
    this.#child.stdin?.end()
    this.#child.kill()
  }

  async #readPiece(handle: Buffer, offset: number, length: number): Promise<{ data: Buffer; end: boolean }> {
    const answer = await this.#ask(packetType.read, handle, uint64(offset), uint32(length))
    if (answer.type === packetType.status) return { data: Buffer.alloc(0), end: true }
    return { data: new Cursor(answer.body).bytes(), end: false }
  }

  /** A server may answer with less than it has: whether that was the end is asked. */
  async #short(handle: Buffer, offset: number, data: Buffer): Promise<{ data: Buffer; end: boolean }> {
    const { end } = await this.#readPiece(handle, offset + data.length, 1)
    return { data, end }
  }

  async #handle(type: number, ...parts: readonly Buffer[]): Promise<Buffer> {
    const answer = await this.#ask(type, ...parts)
    return bytes(new Cursor(answer.body).bytes())
  }

  async #ask(type: number, ...parts: readonly Buffer[]): Promise<Answer> {
    await this.ready()
    const id = this.#next
    this.#next += 1
    const { promise, resolve, reject } = Promise.withResolvers<Answer>()
    if (this.#ended) throw this.#lost()
    this.#waiting.set(id, { resolve, reject })
    if (this.#waiting.size === 1) this.#wait()
    this.#send(Buffer.concat([Buffer.of(type), uint32(id), ...parts]))
    const answer = await promise
    if (answer.type === packetType.status) refuseUnlessFine(answer)
    return answer
  }

  #send(packet: Buffer): void {
    this.#child.stdin?.write(Buffer.concat([uint32(packet.length), packet]))
  }

  /**
   * A server does one thing after another: one that waits for a pipe nobody writes into, or for a disk that is away, answers nobody any
   * more. Its session is given up, and the next call begins another.
   */
  #wait(): void {
    clearTimeout(this.#patience)
    this.#patience = setTimeout(() => {
      this.#silent = true
      this.close()
      // Its program may be in no state to end; nobody waits for that.
      this.#end()
    }, this.#silentMs)
  }

  #receive(chunk: Buffer): void {
    if (!this.#ended) this.#wait()
    this.#received = Buffer.concat([this.#received, chunk])
    while (this.#received.length >= 4) {
      const size = this.#received.readUInt32BE(0)
      if (size > mostPacketBytes) {
        // A login script that prints something is the usual reason: its words are read as a length.
        this.#words = 'the server did not speak SFTP (does a login script print something?)'
        this.close()
        return
      }
      if (this.#received.length < 4 + size) return
      const packet = this.#received.subarray(4, 4 + size)
      this.#received = this.#received.subarray(4 + size)
      this.#dispatch(packet)
    }
  }

  #dispatch(packet: Buffer): void {
    const type = packet[0] ?? 0
    if (type === packetType.version) {
      this.#version.resolve(extensions(packet.subarray(5)))
    } else {
      const id = packet.readUInt32BE(1)
      const waiting = this.#waiting.get(id)
      this.#waiting.delete(id)
      waiting?.resolve({ type, body: packet.subarray(5) })
    }
    if (this.#waiting.size === 0) clearTimeout(this.#patience)
  }

  #end(): void {
    if (this.#ended) return
    this.#ended = true
    clearTimeout(this.#patience)
    this.#onEnd()
    const error = this.#lost()
    this.#version.reject(error)
    for (const waiting of this.#waiting.values()) waiting.reject(error)
    this.#waiting.clear()
  }

  #lost(): WorkbenchError {
    if (this.#silent) {
      return new WorkbenchError('timeout', `the remote system said nothing for ${this.#silentMs / 1_000} seconds`, {
        hint: 'try again; where nothing answers any more: svc ssh reconnect <id>',
      })
    }
    const words = this.#words.trim()
    return new WorkbenchError('ssh_not_connected', words === '' ? 'the connection has ended' : words, {
      hint: 'svc ssh reconnect <id>',
    })
  }
}

interface Answer {
  readonly type: number
  readonly body: Buffer
}

interface Attributes {
  readonly size: number
  readonly mode: number
  readonly modified: number
}

const packetType = {
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

const openFlag = { read: 1, write: 2, create: 8, truncate: 16 } as const
const attributeFlag = { size: 1, owner: 2, permissions: 4, times: 8, extended: 0x8000_0000 } as const
const posixRename = 'posix-rename@openssh.com'
/** What every server takes in one packet. */
const pieceBytes = 32 * 1024
const mostPacketBytes = 1024 * 1024
const mostEntries = 50_000
const slash = 0x2f
const dot = Buffer.from('.')
const dotDot = Buffer.from('..')

const statusCode = { ok: 0, eof: 1, noSuchFile: 2, denied: 3 } as const

function refuseUnlessFine(answer: Answer): void {
  const cursor = new Cursor(answer.body)
  const status = cursor.uint32()
  if (status === statusCode.ok || status === statusCode.eof) return
  const words = cursor.bytes().toString('utf8')
  if (status === statusCode.noSuchFile)
    throw new WorkbenchError('not_found', 'there is no such remote file', { details: { status } })
  const message = status === statusCode.denied ? 'the remote system denies it' : `the remote system refused: ${words}`
  throw new WorkbenchError('remote_io', message, { details: { status, message: words } })
}

class Cursor {
  readonly #data: Buffer
  #at = 0

  constructor(data: Buffer) {
    this.#data = data
  }

  get left(): number {
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
    let modified = 0
    if (flags & attributeFlag.times) {
      this.#at += 4
      modified = this.uint32()
    }
    if (flags & attributeFlag.extended) {
      for (let count = this.uint32(); count > 0; count -= 1) {
        this.bytes()
        this.bytes()
      }
    }
    return { size, mode, modified }
  }
}

function names(answer: Answer): { readonly name: Buffer; readonly attributes: Attributes }[] {
  const cursor = new Cursor(answer.body)
  return Array.from({ length: cursor.uint32() }, () => {
    const name = Buffer.from(cursor.bytes())
    cursor.bytes() // the server's own "ls -l" line, which is for people
    return { name, attributes: cursor.attributes() }
  })
}

function extensions(data: Buffer): ReadonlySet<string> {
  const cursor = new Cursor(data)
  const found = new Set<string>()
  while (cursor.left > 0) {
    found.add(cursor.bytes().toString('utf8'))
    cursor.bytes()
  }
  return found
}

const typeOfMode: Readonly<Record<number, RemoteFile['type']>> = { 0o100000: 'file', 0o040000: 'directory', 0o120000: 'link' }

function toFile(name: Buffer, attributes: Attributes): RemoteFile {
  const text = name.toString('utf8')
  const exact = Buffer.from(text).equals(name)
  return {
    name: text,
    ...(exact ? {} : { nameBase64: name.toString('base64') }),
    type: typeOfMode[attributes.mode & 0o170000] ?? 'other',
    size: attributes.size,
    mode: attributes.mode & 0o7777,
    modified: attributes.modified,
  }
}

function uint32(value: number): Buffer {
  const out = Buffer.alloc(4)
  out.writeUInt32BE(value >>> 0)
  return out
}

function uint64(value: number): Buffer {
  const out = Buffer.alloc(8)
  out.writeBigUInt64BE(BigInt(value))
  return out
}

function bytes(data: Buffer): Buffer {
  return Buffer.concat([uint32(data.length), data])
}
