/** Data that the server passes to a page's module: `layout.ts` writes it into the page, `browser/page.ts` reads it. */
import type { Tier } from '../domain/billing/catalog/product.ts'
import type { Language } from './language.ts'
import type { Texts } from './texts/en.ts'

export interface PageData {
  readonly language: Language
  /** The id of the member who is signed in. */
  readonly account: string | null
  readonly texts: Pick<Texts, 'common'> & Partial<Texts>
  readonly props: Partial<PageProps>
}

/** By the module's name, which is its file's without the extension. */
export interface PageProps {
  readonly account: NoProps
  readonly chat: {
    /** The account that the stored conversations belong to. */
    readonly account: string
    /** From where pictures may be shown. */
    readonly origins: readonly string[]
    readonly models: readonly ChatModel[]
    /** The HTTP status of each code of the catalogue. */
    readonly statuses: Readonly<Record<string, number>>
    readonly searchSchema: string
  }
  readonly 'console-now': NoProps
  readonly 'console-turns': NoProps
  readonly docs: {
    /** What stands for the reader's key in the snippets. */
    readonly placeholder: string
  }
  readonly member: NoProps
  readonly 'sign-in': NoProps
  readonly 'sign-in-link': NoProps
}

export interface ChatModel {
  readonly id: string
  readonly name: string
  readonly tier: Tier
  readonly capabilities: readonly string[]
}

type NoProps = Readonly<Record<string, never>>

/** A page's module, its texts and its properties. */
export type PageModule = {
  readonly [Name in keyof PageProps]: { readonly name: Name; readonly texts: Partial<Texts>; readonly props: PageProps[Name] }
}[keyof PageProps]
