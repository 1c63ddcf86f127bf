/**
 * A client for SFTP version 3 (draft-ietf-secsh-filexfer-02) over the standard input and output of any command that
 * connects to a server. Paths are bytes: a remote name need not be UTF-8.
 */
import type { ChildProcess } from 'node:child_process'
import { spawn } from 'node:child_process'
import { WorkbenchError } from '../protocol/protocol.ts'
import type { RemoteFile } from '../protocol/results.ts'
import type { SftpResponse } from './sftp-packet.ts'
import {
  assertOkStatus,
  attributeFlag,
  encodeBytes,
  encodeUint32,
  encodeUint64,
  openFlag,
  PacketReader,
  packetType,
  parseExtensions,
  parseNames,
  toFile,
} from './sftp-packet.ts'

const posixRename = 'posix-rename@openssh.com'
/** The packet size that every server accepts. */
const chunkBytes = 32 * 1024
const maxPacketBytes = 1024 * 1024
const maxEntries = 50_000
const slash = 0x2f
const dot = Buffer.from('.')
const dotDot = Buffer.from('..')

export class SftpClient {
  readonly #child: ChildProcess
  readonly #pendingRequests = new Map<number, { resolve: (answer: SftpResponse) => void; reject: (error: Error) => void }>()
  readonly #version = Promise.withResolvers<ReadonlySet<string>>()
  #received: Buffer = Buffer.alloc(0)
  #nextId = 1
  #stderrText = ''
  #ended = false
  #timedOut = false
  #timeoutTimer: NodeJS.Timeout | undefined
  readonly #onEnd: () => void
  readonly #timeoutMs: number

  /** `silentMs` is the longest silence of the server while a request is pending. */
  constructor(argv: readonly string[], env: Readonly<Record<string, string>>, onEnd: () => void, timeoutMs = 45_000) {
    this.#onEnd = onEnd
    this.#timeoutMs = timeoutMs
    const [program = 'ssh', ...args] = argv
    this.#child = spawn(program, args, { env: { ...env }, stdio: ['pipe', 'pipe', 'pipe'] })
    this.#version.promise.catch(() => undefined)
    this.#child.stdout?.on('data', (chunk: Buffer) => this.#receive(chunk))
    this.#child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.#stderrText = (this.#stderrText + text).slice(-2_000)
    })
    this.#child.stdin?.on('error', () => undefined)
    this.#child.on('error', () => this.#end()).on('close', () => this.#end())
    this.#send(Buffer.concat([Buffer.of(packetType.init), encodeUint32(3)]))
    this.#restartTimeout()
  }

  /** The server's extensions. Await this first, because it proves that there is a server. */
  ready(): Promise<ReadonlySet<string>> {
    return this.#version.promise
  }

  async realpath(path: Buffer): Promise<Buffer> {
    const [entry] = parseNames(await this.#request(packetType.realpath, encodeBytes(path)))
    if (!entry) throw new WorkbenchError('remote_io', 'the server did not name the path')
    return entry.name
  }

  async stat(path: Buffer): Promise<RemoteFile> {
    const answer = await this.#request(packetType.lstat, encodeBytes(path))
    const name = path.subarray(path.lastIndexOf(slash) + 1)
    return toFile(name.length === 0 ? path : name, new PacketReader(answer.body).attributes())
  }

  async list(path: Buffer): Promise<readonly RemoteFile[]> {
    const handle = await this.#openHandle(packetType.opendir, encodeBytes(path))
    const files: RemoteFile[] = []
    try {
      while (files.length <= maxEntries) {
        const answer = await this.#request(packetType.readdir, handle)
        if (answer.type === packetType.status) break
        for (const entry of parseNames(answer)) {
          if (entry.name.equals(dot) || entry.name.equals(dotDot)) continue
          files.push(toFile(entry.name, entry.attributes))
        }
      }
    } finally {
      await this.#request(packetType.close, handle)
    }
    if (files.length > maxEntries) throw new WorkbenchError('remote_io', `the directory has more than ${maxEntries} entries`)
    return files.sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0))
  }

  /** Reads at most `length` bytes from `offset`; `end` when no bytes follow. */
  async read(path: Buffer, offset: number, length: number): Promise<{ data: Buffer; end: boolean }> {
    const handle = await this.#openHandle(packetType.open, encodeBytes(path), encodeUint32(openFlag.read), encodeUint32(0))
    try {
      // All requests are sent at once; a server may answer any of them with fewer bytes.
      const offsets = Array.from({ length: Math.ceil(length / chunkBytes) }, (_, i) => i * chunkBytes)
      const answers = await Promise.all(
        offsets.map((start) => this.#readChunk(handle, offset + start, Math.min(chunkBytes, length - start))),
      )
      const pieces: Buffer[] = []
      for (const [i, piece] of answers.entries()) {
        pieces.push(piece.data)
        const requestedBytes = Math.min(chunkBytes, length - i * chunkBytes)
        if (piece.end) return { data: Buffer.concat(pieces), end: true }
        if (piece.data.length < requestedBytes) return await this.#readShort(handle, offset, Buffer.concat(pieces))
      }
      return { data: Buffer.concat(pieces), end: false }
    } finally {
      await this.#request(packetType.close, handle)
    }
  }

  async write(path: Buffer, offset: number, data: Buffer, options: { truncate?: boolean; mode?: number } = {}): Promise<void> {
    const flags = openFlag.write | openFlag.create | (options.truncate === true ? openFlag.truncate : 0)
    const attributes =
      options.mode === undefined
        ? encodeUint32(0)
        : Buffer.concat([encodeUint32(attributeFlag.permissions), encodeUint32(options.mode)])
    const handle = await this.#openHandle(packetType.open, encodeBytes(path), encodeUint32(flags), attributes)
    try {
      const starts = Array.from({ length: Math.ceil(data.length / chunkBytes) }, (_, i) => i * chunkBytes)
      await Promise.all(
        starts.map((start) =>
          this.#request(
            packetType.write,
            handle,
            encodeUint64(offset + start),
            encodeBytes(data.subarray(start, start + chunkBytes)),
          ),
        ),
      )
    } finally {
      await this.#request(packetType.close, handle)
    }
  }

  async mkdir(path: Buffer): Promise<void> {
    await this.#request(packetType.mkdir, encodeBytes(path), encodeUint32(0))
  }

  /** With `replace` an existing target is replaced, as `mv` does, if the server supports it in one step. */
  async rename(from: Buffer, to: Buffer, replace: boolean): Promise<void> {
    const extensions = await this.ready()
    if (replace && extensions.has(posixRename)) {
      await this.#request(packetType.extended, encodeBytes(Buffer.from(posixRename)), encodeBytes(from), encodeBytes(to))
      return
    }
    await this.#request(packetType.rename, encodeBytes(from), encodeBytes(to))
  }

  /** Removes a file, a link (not its target) or an empty directory. */
  async remove(path: Buffer): Promise<void> {
    const { type } = await this.stat(path)
    await this.#request(type === 'directory' ? packetType.rmdir : packetType.remove, encodeBytes(path))
  }

  close(): void {
    this.#child.stdin?.end()
    this.#child.kill()
  }

  async #readChunk(handle: Buffer, offset: number, length: number): Promise<{ data: Buffer; end: boolean }> {
    const answer = await this.#request(packetType.read, handle, encodeUint64(offset), encodeUint32(length))
    if (answer.type === packetType.status) return { data: Buffer.alloc(0), end: true }
    return { data: new PacketReader(answer.body).bytes(), end: false }
  }

  /** A server may answer with fewer bytes than it has, so another request checks for the end. */
  async #readShort(handle: Buffer, offset: number, data: Buffer): Promise<{ data: Buffer; end: boolean }> {
    const { end } = await this.#readChunk(handle, offset + data.length, 1)
    return { data, end }
  }

  async #openHandle(type: number, ...parts: readonly Buffer[]): Promise<Buffer> {
    const answer = await this.#request(type, ...parts)
    return encodeBytes(new PacketReader(answer.body).bytes())
  }

  async #request(type: number, ...parts: readonly Buffer[]): Promise<SftpResponse> {
    await this.ready()
    const id = this.#nextId
    this.#nextId += 1
    const { promise, resolve, reject } = Promise.withResolvers<SftpResponse>()
    if (this.#ended) throw this.#createConnectionError()
    this.#pendingRequests.set(id, { resolve, reject })
    if (this.#pendingRequests.size === 1) this.#restartTimeout()
    this.#send(Buffer.concat([Buffer.of(type), encodeUint32(id), ...parts]))
    const answer = await promise
    if (answer.type === packetType.status) assertOkStatus(answer)
    return answer
  }

  #send(packet: Buffer): void {
    this.#child.stdin?.write(Buffer.concat([encodeUint32(packet.length), packet]))
  }

  /**
   * A server processes requests in order: one that blocks on a pipe without a writer, or on a disk that is offline, answers nothing
   * any more. Its session is closed, and the next call opens another.
   */
  #restartTimeout(): void {
    clearTimeout(this.#timeoutTimer)
    this.#timeoutTimer = setTimeout(() => {
      this.#timedOut = true
      this.close()
      // Its program may be unable to end; nothing waits for it.
      this.#end()
    }, this.#timeoutMs)
  }

  #receive(chunk: Buffer): void {
    if (!this.#ended) this.#restartTimeout()
    this.#received = Buffer.concat([this.#received, chunk])
    while (this.#received.length >= 4) {
      const size = this.#received.readUInt32BE(0)
      if (size > maxPacketBytes) {
        // The usual cause is a login script that prints text, which is then read as a length.
        this.#stderrText = 'the server did not speak SFTP (does a login script print something?)'
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
      this.#version.resolve(parseExtensions(packet.subarray(5)))
    } else {
      const id = packet.readUInt32BE(1)
      const pendingRequest = this.#pendingRequests.get(id)
      this.#pendingRequests.delete(id)
      pendingRequest?.resolve({ type, body: packet.subarray(5) })
    }
    if (this.#pendingRequests.size === 0) clearTimeout(this.#timeoutTimer)
  }

  #end(): void {
    if (this.#ended) return
    this.#ended = true
    clearTimeout(this.#timeoutTimer)
    this.#onEnd()
    const error = this.#createConnectionError()
    this.#version.reject(error)
    for (const pendingRequest of this.#pendingRequests.values()) pendingRequest.reject(error)
    this.#pendingRequests.clear()
  }

  #createConnectionError(): WorkbenchError {
    if (this.#timedOut) {
      return new WorkbenchError('timeout', `the remote system sent nothing for ${this.#timeoutMs / 1_000} seconds`, {
        hint: 'try again; where nothing answers any more: svc ssh reconnect <id>',
      })
    }
    const words = this.#stderrText.trim()
    return new WorkbenchError('ssh_not_connected', words === '' ? 'the connection has ended' : words, {
      hint: 'svc ssh reconnect <id>',
    })
  }
}
