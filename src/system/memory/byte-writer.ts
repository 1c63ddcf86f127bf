import { freeMemory } from './free-memory.ts'

/**
 * Writes texts into one buffer that grows, so that a text which is megabytes long exists once: neither as pieces beside the whole nor as a
 * string. A buffer that became too small is freed at once and not by the garbage collector.
 */
export class ByteWriter {
  #bytes: Buffer
  #length = 0

  /** @param memory to begin with; shared memory is left as it is when it is full */
  constructor(memory: ArrayBufferLike) {
    this.#bytes = Buffer.from(memory)
  }

  /** Bytes written so far. */
  get length(): number {
    return this.#length
  }

  /** The memory written to. Its length is at least `length`. */
  get memory(): ArrayBufferLike {
    return this.#bytes.buffer
  }

  write(text: string): void {
    this.#reserve(Buffer.byteLength(text))
    this.#length += this.#bytes.write(text, this.#length)
  }

  writeBytes(bytes: Uint8Array): void {
    this.#reserve(bytes.length)
    this.#bytes.set(bytes, this.#length)
    this.#length += bytes.length
  }

  /** The memory with room for more bytes behind what was written. Do not write afterwards. */
  takeBytes(roomBytes: number): Uint8Array<ArrayBuffer> {
    this.#reserve(roomBytes)
    const { buffer } = this.#bytes
    if (!(buffer instanceof ArrayBuffer)) throw new Error('shared memory is not taken')
    return new Uint8Array(buffer)
  }

  #reserve(bytes: number): void {
    const neededBytes = this.#length + bytes
    if (neededBytes <= this.#bytes.length) return
    const { buffer } = this.#bytes
    // Pages that are never written to take no memory.
    const largerBytes = new Uint8Array(Math.ceil(neededBytes * growthFactor))
    largerBytes.set(this.#bytes.subarray(0, this.#length))
    this.#bytes = Buffer.from(largerBytes.buffer)
    freeMemory(buffer)
  }
}

const growthFactor = 1.25
