/** The words of a tree without their formats. */
import type { Inline } from './markdown-tree.ts'

export function toPlainText(inlines: readonly Inline[]): string {
  return inlines.map(toPlain).join('')
}

function toPlain(inline: Inline): string {
  switch (inline.kind) {
    case 'break':
      return '\n'
    case 'image':
      return inline.alt
    case 'footnote-reference':
      return `[^${inline.label}]`
    default:
      return 'text' in inline ? inline.text : toPlainText(inline.children)
  }
}
