/** The icons of a page: outlines of 24 units, drawn once and used by name. */
import { html } from '../html.ts'
import type { Html } from '../html.ts'

const paths = {
  chevron: 'M8 10l4 4 4-4',
  close: 'M6 6l12 12M18 6L6 18',
  down: 'M12 5v14M6 13l6 6 6-6',
  export: 'M12 4v11M7 11l5 5 5-5M5 20h14',
  inbox: 'M4 13l3-8h10l3 8v6H4zM4 13h5a3 3 0 0 0 6 0h5',
  key: 'M14.5 4.5a5 5 0 1 1-3.2 8.8L4 20.5M7 17.5l2.5 2.5M10 14.5l2 2',
  list: 'M4 6h16M4 12h16M4 18h10',
  pencil: 'M4 20l1-4L16 5l3 3L8 19l-4 1zM14 7l3 3',
  pack: 'M4 8l8-4 8 4v8l-8 4-8-4zM4 8l8 4 8-4M12 12v8',
  picture: 'M4 5h16v14H4zM4 16l5-5 4 4 3-3 4 4M15.5 9.5h.01',
  plus: 'M12 5v14M5 12h14',
  search: 'M11 5a6 6 0 1 1 0 12 6 6 0 0 1 0-12zM15.5 15.5L20 20',
  settings: 'M4 7h9M17 7h3M4 17h3M11 17h9M15 5v4M9 15v4',
  trash: 'M5 7h14M10 7V4h4v3M7 7l1 13h8l1-13M10.5 11v5M13.5 11v5',
} as const

export type IconName = keyof typeof paths
export const iconNames = Object.keys(paths) as readonly IconName[]

export function renderIcon(name: IconName): Html {
  return html`<svg class="icon" viewBox="0 0 24 24" aria-hidden="true" focusable="false"><use href="#icon-${name}"></use></svg>`
}

/** The definitions, once on a page that uses icons. */
export function renderIconSymbols(): Html {
  return html`<svg class="icon-symbols" aria-hidden="true" focusable="false">
    ${Object.entries(paths).map(([name, path]) => html`<symbol id="icon-${name}" viewBox="0 0 24 24"><path d="${path}" /></symbol>`)}
  </svg>`
}
