/** Makes the questions of a page (`components/dialog.ts` of the server) modal dialogs. */
import { findElement, findElements } from '../page.ts'

export function setUpDialogs(): void {
  for (const fold of findElements('[data-dialog]', HTMLDetailsElement)) {
    const dialog = findElement('dialog', HTMLDialogElement, fold)
    const open = (): void => {
      fold.open = true
      dialog.classList.add('modal')
      dialog.showModal()
      // In a fold that has just been opened, browsers find nothing to focus yet.
      const first = dialog.querySelector('[aria-invalid], [autofocus]')
      if (first instanceof HTMLElement) first.focus()
    }
    findElement('summary', HTMLElement, fold).addEventListener('click', (event) => {
      event.preventDefault()
      open()
    })
    dialog.addEventListener('close', () => {
      fold.open = false
    })
    for (const closer of findElements('[data-close]', HTMLElement, dialog))
      closer.addEventListener('click', (event) => {
        event.preventDefault()
        dialog.close()
      })
    if (fold.open) open()
  }
}
