/** A dialog at the edge of the window, for what stands beside the page where there is room. */

/** `content` is moved into the dialog while it is open, so that its state and listeners stay. */
export function setUpDrawer(dialog: HTMLDialogElement, content: HTMLElement, opener: HTMLElement): void {
  opener.addEventListener('click', () => {
    dialog.append(content)
    dialog.showModal()
  })
  dialog.addEventListener('close', () => dialog.before(content))
  // The dialog is as large as its content, so a click on the element itself is one beside it.
  dialog.addEventListener('click', (event) => {
    if (event.target === dialog) dialog.close()
  })
}
