/** The values of one command line, already checked against its entry. Reading a name that the entry does not define is a bug and throws. */
export class ParsedValues {
  readonly #values: ReadonlyMap<string, ParsedValue>

  constructor(values: ReadonlyMap<string, ParsedValue>) {
    this.#values = values
  }

  /** The value, or undefined where none was given. */
  getText(name: string): string | undefined {
    const value = this.#get(name)
    return typeof value === 'string' ? value : undefined
  }

  /** For required arguments and options: the parser has already refused a command line without them. */
  requireText(name: string): string {
    const value = this.getText(name)
    if (value === undefined) throw new TypeError(`${name} is not required in its entry, so it may be missing: use getText()`)
    return value
  }

  getNumber(name: string): number | undefined {
    const value = this.#get(name)
    return typeof value === 'number' ? value : undefined
  }

  getFlag(name: string): boolean {
    return this.#get(name) === true
  }

  /** Values of a variadic argument or a repeated option; empty where none was given. */
  getList(name: string): readonly string[] {
    const value = this.#get(name)
    return Array.isArray(value) ? value : []
  }

  #get(name: string): ParsedValue {
    if (!this.#values.has(name)) throw new TypeError(`the command's entry has no ${name}`)
    return this.#values.get(name)
  }
}

export type ParsedValue = string | number | boolean | readonly string[] | undefined
