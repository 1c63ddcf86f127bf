/** The amounts of one pool in one window and period, as numbers in the order of the columns. */
import { bucketFields } from '../schema/schema.ts'

/** The position of each value, counted from the bucket's first. */
const fieldIndex = { id: 0, startsAt: 1, endsAt: 2, granted: 3, reserved: 4, settled: 5, debt: 6 } as const

/** A view of one bucket's values: in a balance or, once its period is over, in an archived row. */
export class Bucket {
  readonly values: number[]
  readonly #start: number

  constructor(values: number[], start: number) {
    this.values = values
    this.#start = start
  }

  get(name: keyof typeof fieldIndex): number {
    return this.values[this.#start + fieldIndex[name]] ?? 0
  }

  applyDelta(reserved: number, settled: number, debt: number): void {
    this.set('reserved', this.get('reserved') + reserved)
    this.set('settled', this.get('settled') + settled)
    this.set('debt', this.get('debt') + debt)
  }

  set(name: keyof typeof fieldIndex, value: number): void {
    this.values[this.#start + fieldIndex[name]] = value
  }

  /** The settled credits without the debt. */
  get paid(): number {
    return this.get('settled') - this.get('debt')
  }

  get available(): number {
    return this.get('granted') - this.get('reserved') - this.paid
  }

  /** The rule of the table's CHECK constraint, checked early because the row may be written much later. */
  get isValid(): boolean {
    const debt = this.get('debt')
    return this.get('reserved') >= 0 && debt >= 0 && debt <= this.get('settled') && this.available >= 0
  }

  toValues(): number[] {
    return this.values.slice(this.#start, this.#start + bucketFields.length)
  }

  assign(values: readonly number[]): void {
    values.forEach((value, index) => (this.values[this.#start + index] = value))
  }
}
