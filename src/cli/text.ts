/** A sentence of ours: the same in every language (a plain string), or in both of the languages `svc` speaks. */
export type Text = string | { readonly en: string; readonly zh: string }

export type Language = 'en' | 'zh'

export function inLanguage(text: Text, language: Language): string {
  return typeof text === 'string' ? text : text[language]
}
