/** Pictures of a message that is being written: chosen, pasted or dropped, and made small enough to send. */
import { createIconButton } from '../../components/icon.ts'
import { createElement, getTexts, interpolate } from '../../page.ts'

const texts = getTexts('chat')
const maxPictures = 4
/** Models see no more than about this; a larger one only costs more. */
const maxSide = 1_568
/** Files up to this size and side are sent as they are. */
const maxPlainBytes = 700_000
const maxPlainSide = 2_048
const sentTypes = ['image/png', 'image/jpeg', 'image/webp', 'image/gif']
const jpegQuality = 0.85

export class Attachments {
  readonly #host: HTMLElement
  readonly #report: (problem: string) => void
  /** Objects, because the same picture may be attached twice. */
  #pictures: { readonly src: string }[] = []

  /** `report` tells the member why a file was not taken. */
  constructor(host: HTMLElement, report: (problem: string) => void) {
    this.#host = host
    this.#report = report
  }

  get count(): number {
    return this.#pictures.length
  }

  async add(files: Iterable<File>): Promise<void> {
    for (const file of files) {
      if (!file.type.startsWith('image/')) this.#report(interpolate(texts.noPicture, { name: file.name }))
      else if (this.#pictures.length >= maxPictures) this.#report(interpolate(texts.tooManyPictures, { count: maxPictures }))
      else {
        const url = await toDataUrl(file).catch(() => null)
        if (url === null) this.#report(interpolate(texts.brokenPicture, { name: file.name }))
        else this.#pictures.push({ src: url })
      }
    }
    this.#render()
  }

  /** The pictures as data URLs, and none afterwards. */
  take(): string[] {
    const pictures = this.#pictures.map(({ src }) => src)
    this.#pictures = []
    this.#render()
    return pictures
  }

  #render(): void {
    this.#host.hidden = this.#pictures.length === 0
    this.#host.replaceChildren(
      ...this.#pictures.map((picture) =>
        createElement(
          'li',
          {},
          createElement('img', { src: picture.src, alt: texts.attachedPicture }),
          createIconButton('close', texts.removePicture, () => {
            this.#pictures = this.#pictures.filter((one) => one !== picture)
            this.#render()
          }),
        ),
      ),
    )
  }
}

/** @throws where the browser cannot read the picture */
async function toDataUrl(file: File): Promise<string> {
  const bitmap = await createImageBitmap(file)
  const { width, height } = bitmap
  const side = Math.max(width, height)
  if (sentTypes.includes(file.type) && file.size <= maxPlainBytes && side <= maxPlainSide) return readFile(file)
  const scale = Math.min(1, maxSide / side)
  const canvas = createElement('canvas', {})
  canvas.width = Math.max(1, Math.round(width * scale))
  canvas.height = Math.max(1, Math.round(height * scale))
  const context = canvas.getContext('2d')
  if (context === null) throw new Error()
  // JPEG has no transparency; what shines through is white, as on paper.
  context.fillStyle = 'white'
  context.fillRect(0, 0, canvas.width, canvas.height)
  context.drawImage(bitmap, 0, 0, canvas.width, canvas.height)
  return canvas.toDataURL('image/jpeg', jpegQuality)
}

function readFile(file: File): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader()
    reader.addEventListener('load', () => resolve(String(reader.result)))
    reader.addEventListener('error', () => reject(reader.error ?? new Error()))
    reader.readAsDataURL(file)
  })
}
