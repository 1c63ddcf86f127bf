/** A picture in the size of the window, with a button that saves it. */
import { commonTexts, createElement, getTexts } from '../page.ts'

const texts = getTexts('chat')

export function openPicture({ src, alt }: HTMLImageElement): void {
  const dialog: HTMLDialogElement = createElement(
    'dialog',
    { class: 'picture-dialog', 'aria-label': alt, onclose: () => dialog.remove() },
    createElement('img', { src, alt }),
    createElement(
      'p',
      { class: 'actions' },
      createElement('a', { class: 'button small', href: src, download: toFileName(src, alt) }, texts.save),
      createElement('button', { class: 'button quiet small', type: 'button', onclick: () => dialog.close() }, commonTexts.close),
    ),
  )
  // A press beside the picture closes it.
  dialog.addEventListener('click', (event) => event.target === dialog && dialog.close())
  document.body.append(dialog)
  dialog.showModal()
}

function toFileName(src: string, alt: string): string {
  const extension = /^data:image\/(\w+)/.exec(src)?.[1] ?? /\.(\w+)(?:\?|$)/.exec(src)?.[1] ?? 'png'
  const name = alt.replaceAll(/[^\p{L}\p{N}]+/gu, '-').slice(0, 40)
  return `${name === '' ? 'picture' : name}.${extension}`
}
