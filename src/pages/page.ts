/** What a page is, and what it is given to draw itself with. */
import type { Account } from '../membership/account.ts'
import type { Services } from '../gateway/services.ts'
import type { Html } from './html.ts'
import type { Language } from './language.ts'
import type { PageModule } from './page-data.ts'
import type { Texts } from './texts/en.ts'

/** One page of the site, under one path. */
export interface Page {
  readonly path: string
  /** `members`: whoever is not signed in is led to sign in first. `guests`: whoever is signed in already is led on. */
  readonly for: 'everyone' | 'members' | 'guests'
  readonly view: (context: PageContext) => View
}

/** Who looks, in which language, at which address. */
export interface PageContext {
  readonly services: Services
  readonly t: Texts
  readonly language: Language
  /** The account signed in, or null. */
  readonly viewer: Account | null
  readonly path: string
  readonly query: URLSearchParams
  /** The address of a file of ours, with its content hash. */
  readonly asset: (name: string) => string
}

/** What a page puts into the layout. */
export interface View {
  readonly title: string
  readonly description?: string
  readonly main: Html
  readonly script?: PageModule
  /** The chat fills the window and needs no footer. */
  readonly layout?: 'page' | 'app'
  readonly status?: number
}

/** Members' pages are drawn for members only; the route sees to that. */
export function memberOf({ viewer }: PageContext): Account {
  if (viewer === null) throw new Error('A page for members was drawn for nobody. Its `for` must be `members`.')
  return viewer
}

/** `{name}` in a text, filled. */
export function fill(text: string, values: Readonly<Record<string, string | number>>): string {
  return text.replaceAll(/\{(\w+)\}/g, (whole, name: string) => String(values[name] ?? whole))
}
