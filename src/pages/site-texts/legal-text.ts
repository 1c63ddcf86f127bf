/** The operator's terms and privacy notice: a Markdown file, or an address elsewhere. */
import { readFileSync } from 'node:fs'
import type { GatewayConfig } from '../../config/config.ts'
import type { Language } from '../language.ts'

export type LegalText = keyof Pick<GatewayConfig['site'], 'terms' | 'privacy'>

/** In the language, else in the other one; null where the operator has none. */
export function findLegalText({ site }: GatewayConfig, name: LegalText, language: Language): string | null {
  const texts = site[name]
  return texts[language] ?? texts[language === 'en' ? 'zh' : 'en']
}

/** Where the text is: a page of ours, or the address that the operator has named. */
export function getLegalLink(config: GatewayConfig, name: LegalText, language: Language): string | null {
  const text = findLegalText(config, name, language)
  return text === null || text.startsWith('https://') ? text : `/${name}`
}

/** Read at each request, so that a changed text is shown without a restart. */
export function readLegalText(file: string): string {
  return readFileSync(file, 'utf8')
}
