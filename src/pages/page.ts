/** The interface of a page and its rendering context. */
import type { Account } from '../domain/identity/account.ts'
import type { Services } from '../services/services.ts'
import type { Html } from './html.ts'
import type { Language } from './language.ts'
import type { Theme } from './theme.ts'
import type { PageModule } from './page-data.ts'
import type { Texts } from './texts/en.ts'

/** One page of the site, under one path. */
export interface Page {
  readonly path: string
  /** `members`: visitors are redirected to sign in first. `guests`: signed-in members are redirected onwards. */
  readonly audience: 'everyone' | 'members' | 'guests'
  /** Served only from a checkout on loopback; elsewhere the page does not exist. */
  readonly isForDevelopment?: boolean
  readonly view: (context: PageContext) => View
  /** What a form of the page does; without it a form does nothing unless a script sends it. */
  readonly submit?: (context: PageContext) => Promise<View>
}

/** The reader, their language and the requested address. */
export interface PageContext {
  readonly services: Services
  readonly t: Texts
  readonly language: Language
  /** The reader's region of that language, for dates: `en-GB`. */
  readonly locale: string
  /** `auto` follows the reader's system. */
  readonly theme: Theme
  /** The account signed in, or null. */
  readonly viewer: Account | null
  readonly path: string
  readonly query: URLSearchParams
  /** A form of the page was submitted without scripts, so nothing was done. */
  readonly isUnsent: boolean
  /** The address of a file of ours, with its content hash. */
  readonly asset: (name: string) => string
}

/** A page's contribution to the layout. */
export interface View {
  readonly title: string
  readonly description?: string
  readonly main: Html
  readonly script?: PageModule
  /** The script only adds to the page, so a reader without scripts is not told that they are needed. */
  readonly isWholeWithoutScript?: boolean
  /** The same content for programs, as Markdown. */
  readonly alternate?: string
  /** A stylesheet of its own, besides the site's. */
  readonly styles?: string
  /** The chat fills the window and needs no footer. */
  readonly layout?: 'page' | 'app'
  readonly status?: number
}

/** Members' pages are drawn for members only; the route sees to that. */
export function requireMember({ viewer }: PageContext): Account {
  if (viewer === null) throw new Error('A page for members was rendered without a member. Its `audience` must be `members`.')
  return viewer
}

/** `{name}` in a text, filled. */
export function interpolate(text: string, values: Readonly<Record<string, string | number>>): string {
  return text.replaceAll(/\{(\w+)\}/g, (whole, name: string) => (Object.hasOwn(values, name) ? String(values[name]) : whole))
}
