/** A field that takes the code out of what is pasted into it. */
export function parseOnPaste(field: HTMLInputElement, read: (text: string) => string): void {
  field.addEventListener('paste', (event) => {
    const pasted = event.clipboardData?.getData('text') ?? ''
    if (read(pasted) === pasted) return
    event.preventDefault()
    field.value = read(pasted)
    field.dispatchEvent(new Event('input', { bubbles: true }))
  })
}
