/** The choice of the model that answers: a group of radio buttons in a panel, remembered in this browser. */
import type { ChatModel } from '../../../page-data.ts'
import { readStored, writeStored } from '../../device-storage.ts'
import { findElement, findElements } from '../../page.ts'

export class ModelPicker {
  readonly #models: readonly ChatModel[]
  readonly #storageKey: string
  readonly #panel = findElement('[data-picker]', HTMLDetailsElement)
  readonly #name = findElement('[data-picker-name]', HTMLElement)
  readonly #radios = findElements('[data-picker] input', HTMLInputElement)
  readonly #listeners = new Set<() => void>()

  constructor(models: readonly ChatModel[], account: string) {
    this.#models = models
    this.#storageKey = `model:${account}`
    const before = readStored('localStorage', this.#storageKey)
    this.choose(models.some(({ id }) => id === before) ? (before ?? '') : (models[0]?.id ?? ''))
    this.#panel.addEventListener('change', () => this.#changed())
    // The arrow keys click too, without a count.
    this.#panel.addEventListener('click', (event) => {
      if (event.target instanceof HTMLInputElement && event.detail > 0) this.#close()
    })
    this.#panel.addEventListener('keydown', (event) => {
      if (event.key !== 'Enter' || !(event.target instanceof HTMLInputElement)) return
      event.preventDefault()
      this.#close()
    })
    this.#panel.addEventListener('toggle', () => {
      if (this.#panel.open) this.#radios.find(({ checked }) => checked)?.focus()
    })
  }

  /** The chosen model; undefined where the plan has none. */
  get chosen(): ChatModel | undefined {
    const id = this.#radios.find(({ checked }) => checked)?.value
    return this.#models.find((model) => model.id === id)
  }

  choose(id: string): void {
    for (const radio of this.#radios) radio.checked = radio.value === id
    this.#changed()
  }

  /** Returns a function that ends the calls. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  #changed(): void {
    const { chosen } = this
    if (chosen === undefined) return
    this.#name.textContent = chosen.name
    writeStored('localStorage', this.#storageKey, chosen.id)
    for (const listener of this.#listeners) listener()
  }

  #close(): void {
    this.#panel.open = false
    this.#panel.querySelector('summary')?.focus()
  }
}
