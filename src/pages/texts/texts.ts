/** The site's words, by language. */
import type { Language } from '../language.ts'
import type { Texts } from './en.ts'
import { en } from './en.ts'
import { zh } from './zh.ts'

export const texts: Readonly<Record<Language, Texts>> = { en, zh }
