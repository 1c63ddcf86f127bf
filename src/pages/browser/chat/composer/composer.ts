/** Where a message is written: the field with its draft, the pictures, and the keys that send it. */
import type { ChatModel } from '../../../page-data.ts'
import { showToast } from '../../components/toast.ts'
import { readStored, writeStored } from '../../device-storage.ts'
import { findElement, getTexts, interpolate } from '../../page.ts'
import { Attachments } from './attachments.ts'

const texts = getTexts('chat')
const maxInputHeight = 220

interface ComposerOptions {
  readonly models: readonly ChatModel[]
  readonly getModel: () => ChatModel
  readonly chooseModel: (id: string) => void
  /** Where this tab keeps what is being written. */
  readonly getDraftKey: () => string
}

interface ComposerTarget {
  /** Whether an answer is being written, during which nothing is sent. */
  readonly isBusy: () => boolean
  readonly send: (text: string, images: readonly string[]) => void
}

export class Composer {
  readonly #options: ComposerOptions
  readonly #form = findElement('[data-composer]', HTMLFormElement)
  readonly #input = findElement('#message', HTMLTextAreaElement)
  readonly #attachments = new Attachments(findElement('[data-attachments]', HTMLElement), (problem) => showToast(problem))
  #target: ComposerTarget | null = null
  /** A message that is sent before the stored conversations are there waits for them. */
  #isSentEarly = false

  constructor(options: ComposerOptions) {
    this.#options = options
    this.#form.addEventListener('submit', (event) => {
      event.preventDefault()
      this.#submit()
    })
    this.#input.addEventListener('keydown', (event) => {
      // While an input method composes (Chinese, Japanese …), Enter confirms the composition. Safari ends the composition before that key,
      // and reports its code as 229.
      if (event.key !== 'Enter' || event.shiftKey || event.isComposing || event.keyCode === 229) return
      event.preventDefault()
      this.#form.requestSubmit()
    })
  }

  /** From here on messages are sent, and drafts are kept. */
  connect(target: ComposerTarget): void {
    this.#target = target
    this.#input.addEventListener('input', () => {
      this.#resize()
      this.#saveDraft()
    })
    this.#connectPictures()
    if (this.#isSentEarly) this.#form.requestSubmit()
  }

  /** What was typed while the page loaded stays. */
  showDraft(): void {
    const draft = readStored('sessionStorage', this.#options.getDraftKey()) ?? ''
    if (this.#input.value !== draft && (this.#target !== null || this.#input.value === '')) this.#setText(draft)
  }

  send(text: string): void {
    this.#setText(text)
    this.#form.requestSubmit()
  }

  focus(): void {
    this.#input.focus({ preventScroll: true })
  }

  #submit(): void {
    const text = this.#input.value.trim()
    if (this.#target === null) this.#isSentEarly = true
    else if ((text !== '' || this.#attachments.count > 0) && !this.#target.isBusy()) {
      this.#setText('')
      this.#target.send(text, this.#attachments.take())
    }
  }

  #connectPictures(): void {
    const files = findElement('[data-files]', HTMLInputElement)
    findElement('[data-attach]', HTMLElement).addEventListener('click', () => this.#requireVision(() => files.click()))
    files.addEventListener('change', () => {
      void this.#attachments.add([...(files.files ?? [])])
      files.value = ''
    })
    this.#input.addEventListener('paste', (event) => this.#attachFrom(event, event.clipboardData))
    addEventListener('dragover', (event) => event.dataTransfer?.types.includes('Files') === true && event.preventDefault())
    addEventListener('drop', (event) => this.#attachFrom(event, event.dataTransfer))
  }

  #attachFrom(event: Event, data: DataTransfer | null): void {
    const receivedFiles = [...(data?.files ?? [])]
    if (receivedFiles.length === 0) return
    event.preventDefault()
    this.#requireVision(() => void this.#attachments.add(receivedFiles))
  }

  /** Runs where the chosen model sees pictures, else offers one that does. */
  #requireVision(run: () => void): void {
    const { models, getModel, chooseModel } = this.#options
    const chosenModel = getModel()
    if (chosenModel.capabilities.includes('vision')) return run()
    const able = models.find(({ capabilities }) => capabilities.includes('vision'))
    const text = interpolate(texts.noVision, { model: chosenModel.name })
    if (able === undefined) return showToast(text)
    const change = (): void => {
      chooseModel(able.id)
      run()
    }
    showToast(text, { label: interpolate(texts.useModel, { model: able.name }), run: change })
  }

  #setText(text: string): void {
    this.#input.value = text
    if (this.#target !== null) this.#saveDraft()
    this.#resize()
  }

  #saveDraft(): void {
    const { value } = this.#input
    writeStored('sessionStorage', this.#options.getDraftKey(), value === '' ? null : value)
  }

  #resize(): void {
    this.#input.style.height = 'auto'
    this.#input.style.height = `${Math.min(this.#input.scrollHeight + 2, maxInputHeight)}px`
  }
}
