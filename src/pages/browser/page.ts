/** The page's data from the server, and helpers to find and create elements. */
import type { PageData, PageProps } from '../page-data.ts'
import type { Texts } from '../texts/en.ts'

const data: PageData = JSON.parse(findElement('#page-data', HTMLScriptElement).text)

/** `account` is the member's id, null for a visitor. */
export const { language, account } = data
/** The reader's region of the page's language, for dates and numbers. */
export const locale =
  navigator.languages.find((tag) => tag.toLowerCase().startsWith(`${language}-`)) ?? (language === 'zh' ? 'zh-CN' : 'en-US')
export const commonTexts = data.texts.common

/** The words that this page brought along under this name. */
export function getTexts<Name extends keyof Texts>(name: Name): Texts[Name] {
  const { [name]: pageTexts }: Partial<Texts> = data.texts
  if (pageTexts === undefined) throw new Error(`No texts: ${name}`)
  return pageTexts
}

/** The properties that the server gave the module of this name. */
export function getProps<Name extends keyof PageProps>(name: Name): PageProps[Name] {
  const { [name]: value }: Partial<PageProps> = data.props
  if (value === undefined) throw new Error(`No props: ${name}`)
  return value
}

/** `{name}` in a text, filled. */
export function interpolate(text: string, values: Readonly<Record<string, string | number>>): string {
  return text.replaceAll(/\{(\w+)\}/g, (whole, name: string) => String(values[name] ?? whole))
}

/** The one element of its kind that a page surely has; a page without it has lost touch with its script. */
export function findElement<Kind extends Element>(selector: string, kind: new () => Kind, within: ParentNode = document): Kind {
  const element = within.querySelector(selector)
  if (element instanceof kind) return element
  throw new Error(`No ${kind.name}: ${selector}`)
}

/** All of them, which may be none. */
export function findElements<Kind extends Element>(
  selector: string,
  kind: new () => Kind,
  within: ParentNode = document,
): Kind[] {
  return [...within.querySelectorAll(selector)].filter((found): found is Kind => found instanceof kind)
}

type Attributes = Readonly<Record<string, string | number | boolean | null | undefined | ((event: Event) => unknown)>>
/** Values that render nothing, so that `condition && element(…)` works. */
export type Child = string | Node | null | undefined | false

/**
 * An element: attributes by name (`onclick` and the like are listeners, `class` is a class), then children. Text stays text, always.
 */
export function createElement<Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  attributes: Attributes = {},
  ...children: readonly Child[]
): HTMLElementTagNameMap[Name] {
  return populateElement(document.createElement(name), attributes, children)
}

export function createSvgElement<Name extends keyof SVGElementTagNameMap>(
  name: Name,
  attributes: Attributes = {},
  ...children: readonly Child[]
): SVGElementTagNameMap[Name] {
  return populateElement(document.createElementNS('http://www.w3.org/2000/svg', name), attributes, children)
}

function populateElement<Made extends Element>(node: Made, attributes: Attributes, children: readonly Child[]): Made {
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue
    if (typeof value === 'function') node.addEventListener(key.slice('on'.length), value)
    else node.setAttribute(key, value === true ? '' : String(value))
  }
  node.append(...children.filter((child) => child !== null && child !== undefined && child !== false))
  return node
}

/** Code that can be copied, as the server's pages have it. */
export function createCodeBlock(name: string, code: string): HTMLElement {
  return createElement(
    'div',
    { class: 'code-block' },
    createElement('div', { class: 'code-head' }, createElement('span', {}, name), createCopyButton(name)),
    createElement('pre', { tabindex: '0', role: 'region', 'aria-label': name }, createElement('code', {}, code)),
  )
}

function createCopyButton(name: string): HTMLElement {
  const label = interpolate(commonTexts.copyLabel, { what: ` ${name}` })
  return createElement('button', { type: 'button', 'data-copy': '', 'aria-label': label }, commonTexts.copy)
}

/** Dispatched on the window at sign-out: data that a page would save no longer belongs to a member. */
export const signedOutEvent = 'signed-out'
