/** How the usage page calls tiers, credentials and API formats. */
import type { Texts } from '../../../texts/en.ts'

type AccountTexts = Texts['account']

/** `keyName`: the name of the API key with this id, if it is one. */
export function nameSource({ sources, deletedKey }: AccountTexts, id: string, keyName?: string | null): string {
  if (keyName !== undefined && keyName !== null && keyName !== '') return keyName
  return Object.entries(sources).find(([source]) => source === id)?.[1] ?? deletedKey
}

export function nameFormat({ formats }: AccountTexts, id: string): string {
  return Object.entries(formats).find(([format]) => format === id)?.[1] ?? id
}

export function nameGroup(texts: AccountTexts, by: string, id: string, keyName: string | null): string {
  if (by === 'tier') return id === 'fast' ? texts.fast : texts.premium
  if (by === 'key') return nameSource(texts, id, keyName)
  return by === 'api_format' ? nameFormat(texts, id) : id
}
