/** What comes in parts, kept as it came. */

/** So many parts are kept as they are: more than anything long has that comes in ordinary ones, and so is never copied. */
const mostParts = 1_024

export class Parts {
  readonly #kept: Buffer[] = []
  /** How many of these are crumbs that were put together: each part takes two hundred bytes of the heap, and be it of one byte. */
  #joined = 0

  add(part: Buffer): void {
    this.#kept.push(part)
    if (this.#kept.length === this.#joined + mostParts) this.#kept.push(Buffer.concat(this.#kept.splice(this.#joined++)))
  }

  /** In the order they came. */
  get all(): readonly Buffer[] {
    return this.#kept
  }
}

export function inOnePiece(parts: readonly Buffer[]): Buffer {
  const [first] = parts
  return parts.length === 1 && first !== undefined ? first : Buffer.concat(parts)
}
