/** An icon of the page's set (`src/pages/components/icons.ts`). */
import type { IconName } from '../../components/icons.ts'
import { createElement, createSvgElement } from '../page.ts'

export function createIcon(name: IconName): SVGSVGElement {
  return createSvgElement(
    'svg',
    { class: 'icon', viewBox: '0 0 24 24', 'aria-hidden': 'true', focusable: 'false' },
    createSvgElement('use', { href: `#icon-${name}` }),
  )
}

/** A button that shows an icon alone; its name is read out and shown as a tip. */
export function createIconButton(name: IconName, label: string, onclick: (event: Event) => unknown): HTMLButtonElement {
  return createElement(
    'button',
    { class: 'icon-button', type: 'button', 'aria-label': label, 'data-tip': label, onclick },
    createIcon(name),
  )
}
