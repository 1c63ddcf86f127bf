/** Copies text; without the clipboard, as over plain http on a network address, it is selected, one key press from copied. */
export async function copyText(text: string, shown: Node): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text)
    return true
  } catch {
    getSelection()?.selectAllChildren(shown)
    return false
  }
}
