/** How the page calls tiers, credentials and API formats. */
import { getTexts } from '../../page.ts'

const texts = getTexts('account')
const sources: Readonly<Record<string, string>> = texts.sources
const formats: Readonly<Record<string, string>> = texts.formats

/** `keyName`: the name of the API key with this id, if it is one. */
export function nameSource(id: string, keyName?: string | null): string {
  if (keyName !== undefined && keyName !== null && keyName !== '') return keyName
  return sources[id] ?? texts.deletedKey
}

export function nameFormat(id: string): string {
  return formats[id] ?? id
}

export function nameGroup(by: string, id: string, keyName: string | null): string {
  if (by === 'tier') return id === 'fast' ? texts.fast : texts.premium
  if (by === 'key') return nameSource(id, keyName)
  return by === 'api_format' ? nameFormat(id) : id
}
