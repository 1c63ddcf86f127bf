/** The words of one command line, already checked against its row: asking for a name the row does not have is a bug and throws. */
export class Values {
  readonly #values: ReadonlyMap<string, Value>

  constructor(values: ReadonlyMap<string, Value>) {
    this.#values = values
  }

  /** The value, or undefined where it was not given. */
  text(name: string): string | undefined {
    const value = this.#get(name)
    return typeof value === 'string' ? value : undefined
  }

  /** For required arguments and options: the parser has already refused a line without them. */
  need(name: string): string {
    const value = this.text(name)
    if (value === undefined) throw new TypeError(`${name} is not required in its row, so it may be missing: use text()`)
    return value
  }

  number(name: string): number | undefined {
    const value = this.#get(name)
    return typeof value === 'number' ? value : undefined
  }

  flag(name: string): boolean {
    return this.#get(name) === true
  }

  /** Of a variadic argument or a repeated option; empty where none was given. */
  list(name: string): readonly string[] {
    const value = this.#get(name)
    return Array.isArray(value) ? value : []
  }

  #get(name: string): Value {
    if (!this.#values.has(name)) throw new TypeError(`the command's row has no ${name}`)
    return this.#values.get(name)
  }
}

export type Value = string | number | boolean | readonly string[] | undefined
