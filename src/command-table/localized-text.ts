/** A sentence of `svc`: a plain string is the same in every language, otherwise one text per language. */
export type LocalizedText = string | { readonly en: string; readonly zh: string }

export type Language = 'en' | 'zh'

export function translate(text: LocalizedText, language: Language): string {
  return typeof text === 'string' ? text : text[language]
}

/** Selects the language of `svc`: SVC_LANG, then the setting, then the locale variables; English where none selects Chinese. */
export function detectLanguage(
  { variables }: { readonly variables: Readonly<Record<string, string | undefined>> },
  setting?: string,
): Language {
  const { SVC_LANG, LC_ALL, LC_MESSAGES, LANG } = variables
  const languageSetting = [SVC_LANG, setting, LC_ALL, LC_MESSAGES, LANG].find((value) => value !== undefined && value !== '')
  return languageSetting !== undefined && /^zh(?:$|[-_.])/i.test(languageSetting) ? 'zh' : 'en'
}
