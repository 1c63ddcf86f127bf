/** The language of the help and of refused command lines. */
import { detectLanguage } from '../command-table/localized-text.ts'
import type { Language } from '../command-table/localized-text.ts'

/** By SVC_LANG and the variables of the locale; the configuration is not loaded for that. */
export function getLanguage(): Language {
  return detectLanguage({ variables: process.env })
}
