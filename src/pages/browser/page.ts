/** What the server told this page, and its parts: the elements that are there, and those that are made. */
import type { PageData, Told } from '../page-data.ts'
import type { Texts } from '../texts/en.ts'

const data: PageData = JSON.parse(find('#page-data', HTMLScriptElement).text)

export const { language } = data
export const locale = language === 'zh' ? 'zh-CN' : 'en-US'
export const common = data.texts.common

/** The words that this page brought along under this name. */
export function words<Name extends keyof Texts>(name: Name): Texts[Name] {
  const { [name]: brought }: Partial<Texts> = data.texts
  if (brought === undefined) throw new Error(`The page brought no words for '${name}'.`)
  return brought
}

/** What the server told the module of this name. */
export function told<Name extends keyof Told>(name: Name): Told[Name] {
  const { [name]: value }: Partial<Told> = data.told
  if (value === undefined) throw new Error(`The page tells nothing to '${name}'.`)
  return value
}

/** `{name}` in a text, filled. */
export function fill(text: string, values: Readonly<Record<string, string | number>>): string {
  return text.replaceAll(/\{(\w+)\}/g, (whole, name: string) => String(values[name] ?? whole))
}

/** The one element of its kind that a page surely has; a page without it has lost touch with its script. */
export function find<Kind extends Element>(selector: string, kind: new () => Kind, within: ParentNode = document): Kind {
  const found = within.querySelector(selector)
  if (found instanceof kind) return found
  throw new Error(
    found === null ? `The page has no ${selector}.` : `${selector} is <${found.localName}>, which is no ${kind.name}.`,
  )
}

/** All of them, which may be none. */
export function findAll<Kind extends Element>(selector: string, kind: new () => Kind, within: ParentNode = document): Kind[] {
  return [...within.querySelectorAll(selector)].filter((found): found is Kind => found instanceof kind)
}

export type Attributes = Readonly<Record<string, string | number | boolean | null | undefined | ((event: Event) => unknown)>>
/** What leaves nothing lets `condition && element(…)` read well. */
export type Child = string | Node | null | undefined | false

/**
 * An element: attributes by name (`onclick` and the like are listeners, `class` is a class), then children. Text stays text, always.
 */
export function element<Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  attributes: Attributes = {},
  ...children: readonly Child[]
): HTMLElementTagNameMap[Name] {
  return furnish(document.createElement(name), attributes, children)
}

export function drawing<Name extends keyof SVGElementTagNameMap>(
  name: Name,
  attributes: Attributes = {},
  ...children: readonly Child[]
): SVGElementTagNameMap[Name] {
  return furnish(document.createElementNS('http://www.w3.org/2000/svg', name), attributes, children)
}

function furnish<Made extends Element>(node: Made, attributes: Attributes, children: readonly Child[]): Made {
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue
    if (typeof value === 'function') node.addEventListener(key.slice('on'.length), value)
    else node.setAttribute(key, value === true ? '' : String(value))
  }
  node.append(...children.filter((child) => child !== null && child !== undefined && child !== false))
  return node
}

/** Code that can be copied, as the server's pages have it. */
export function codeBlock(name: string, code: string): HTMLElement {
  return element(
    'div',
    { class: 'code-block' },
    element(
      'div',
      { class: 'code-head' },
      element('span', {}, name),
      element(
        'button',
        { type: 'button', 'data-copy': '', 'aria-label': fill(common.copyLabel, { what: ` ${name}` }) },
        common.copy,
      ),
    ),
    element('pre', { tabindex: '0', role: 'region', 'aria-label': name }, element('code', {}, code)),
  )
}

/** Told to the window before it leaves: what a page would keep is nobody's any more. */
export const signedOut = 'signed-out'

const wayOnKey = 'way-on'

/** Where to go after signing in, for the page that a letter's link opens in another tab. */
export function keepWayOn(path: string): void {
  localStorage.setItem(wayOnKey, path)
}

export function takeWayOn(): string {
  const path = localStorage.getItem(wayOnKey)
  localStorage.removeItem(wayOnKey)
  return path ?? '/account'
}
