/** The figures of one pool in one window and period, as plain numbers in the order of the columns. */
import { bucketFields } from './schema.ts'

/** Where each figure of a bucket stands, counted from the bucket's first. */
const field = { id: 0, startsAt: 1, endsAt: 2, granted: 3, reserved: 4, settled: 5, debt: 6 } as const

/** A bucket in place: `cells[start + field.…]`. In the purse or, once its period is over, in a row of its own. */
export class Bucket {
  readonly cells: number[]
  readonly #start: number

  constructor(cells: number[], start: number) {
    this.cells = cells
    this.#start = start
  }

  get(name: keyof typeof field): number {
    return this.cells[this.#start + field[name]] ?? 0
  }

  move(reserved: number, settled: number, debt: number): void {
    this.set('reserved', this.get('reserved') + reserved)
    this.set('settled', this.get('settled') + settled)
    this.set('debt', this.get('debt') + debt)
  }

  set(name: keyof typeof field, value: number): void {
    this.cells[this.#start + field[name]] = value
  }

  /** What was settled and is no debt. */
  get covered(): number {
    return this.get('settled') - this.get('debt')
  }

  get room(): number {
    return this.get('granted') - this.get('reserved') - this.covered
  }

  /** As the table demands it of the row, which may be written only much later. */
  get isSound(): boolean {
    const debt = this.get('debt')
    return this.get('reserved') >= 0 && debt >= 0 && debt <= this.get('settled') && this.room >= 0
  }

  figures(): number[] {
    return this.cells.slice(this.#start, this.#start + bucketFields.length)
  }

  become(figures: readonly number[]): void {
    figures.forEach((value, index) => (this.cells[this.#start + index] = value))
  }
}
