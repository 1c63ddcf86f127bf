/** A field that takes the code out of what is pasted into it. */
export function parseOnPaste(field: HTMLInputElement, read: (text: string) => string): void {
  field.addEventListener('paste', (event) => {
    const pastedText = event.clipboardData?.getData('text') ?? ''
    if (read(pastedText) === pastedText) return
    event.preventDefault()
    field.value = read(pastedText)
    field.dispatchEvent(new Event('input', { bubbles: true }))
  })
}
