/** What a page's module is told by the server: `layout.ts` writes it into the page, `browser/page.ts` reads it there. */
import type { Language } from './language.ts'
import type { Texts } from './texts/en.ts'

export interface PageData {
  readonly language: Language
  readonly texts: Pick<Texts, 'common'> & Partial<Texts>
  readonly told: Partial<Told>
}

/** By the module's name, which is its file's without the extension. */
export interface Told {
  readonly account: Nothing
  readonly chat: {
    /** Whose conversation it is. */
    readonly account: string
    /** From where pictures may be shown. */
    readonly origins: readonly string[]
    readonly models: readonly ChatModel[]
    /** The HTTP status of each code of the catalogue. */
    readonly statuses: Readonly<Record<string, number>>
    readonly searchSchema: string
  }
  readonly connect: {
    /** Of the request to decide on. */
    readonly uid: string
  }
  readonly device: {
    /** From the address; empty where there is none in it. */
    readonly code: string
    readonly account: string
  }
  readonly keys: { readonly base: string; readonly model: string }
  readonly sessions: Nothing
  readonly 'sign-in': {
    /** Where to go afterwards. */
    readonly next: string
    readonly signUp: boolean
  }
  readonly 'sign-in-link': Nothing
}

export interface ChatModel {
  readonly id: string
  readonly name: string
  readonly capabilities: readonly string[]
}

type Nothing = Readonly<Record<string, never>>

/** A page's module, the words it needs, and what else it is told. */
export type PageModule = {
  readonly [Name in keyof Told]: { readonly name: Name; readonly texts: Partial<Texts>; readonly told: Told[Name] }
}[keyof Told]
