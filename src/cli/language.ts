/** In which language `svc` speaks: SVC_LANG, then the setting, then the usual variables of the locale; English where none says Chinese. */
import type { Environment } from './credentials.ts'
import type { Language } from './text.ts'

export function readLanguage({ variables }: Environment, setting?: string): Language {
  const { SVC_LANG, LC_ALL, LC_MESSAGES, LANG } = variables
  const wanted = [SVC_LANG, setting, LC_ALL, LC_MESSAGES, LANG].find((value) => value !== undefined && value !== '')
  return wanted !== undefined && /^zh(?:$|[-_.])/i.test(wanted) ? 'zh' : 'en'
}
