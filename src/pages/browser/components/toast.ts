/** A short message at the lower edge of the page, with at most one action; a new one takes the place of the last. */
import { commonTexts, createElement } from '../page.ts'
import { createIconButton } from './icon.ts'

interface ToastAction {
  readonly label: string
  readonly run: () => void
}

/** Long enough to read it and to reach its button. */
const shownMs = 10_000

let shownToast: { readonly node: HTMLElement; readonly timer: ReturnType<typeof setTimeout> } | null = null
const region = createElement('div', { class: 'toasts', role: 'status' })
document.body.append(region)

export function showToast(text: string, action?: ToastAction): void {
  hideToast()
  const button =
    action === undefined
      ? null
      : createElement(
          'button',
          {
            class: 'link-button',
            type: 'button',
            onclick: () => {
              hideToast()
              action.run()
            },
          },
          action.label,
        )
  const node = createElement(
    'div',
    { class: 'toast' },
    createElement('span', {}, text),
    button,
    createIconButton('close', commonTexts.dismiss, hideToast),
  )
  region.append(node)
  shownToast = { node, timer: setTimeout(hideToast, shownMs) }
}

function hideToast(): void {
  if (shownToast === null) return
  clearTimeout(shownToast.timer)
  shownToast.node.remove()
  shownToast = null
}
