/**
 * Splits program code into tokens for colours. `@speed-highlight/core` is chosen for its size (9 KB for all languages) and its time:
 * 20 KB of `a` on short lines take highlight.js 11 six seconds and Prism 1.30 up to five; here the worst text found takes one.
 */
import { tokenizeWith } from '@speed-highlight/core/tokenize'
import * as bundledLanguages from '@speed-highlight/core/languages'
import type { ShjLanguageData, ShjToken } from '@speed-highlight/core/tokenize'

export interface CodeToken {
  readonly text: string
  /** Null for what has no colour. */
  readonly kind: CodeTokenKind | null
}

export type CodeTokenKind = 'comment' | 'keyword' | 'string' | 'number' | 'name' | 'type' | 'operator' | 'inserted' | 'deleted'

/** Longer code is not split: the library's time grows with the square of some texts. */
const maxLength = 20_000

/** The texts of the tokens together are the code. Code in a language that is not known is one token. */
export function highlightCode(code: string, language: string): readonly CodeToken[] {
  const name = findLanguage(language)
  if (name === undefined || code.length > maxLength || code === '') return [{ text: code, kind: null }]
  const tokens: CodeToken[] = []
  tokenizeWith(
    code,
    languages[name],
    (text, type) => {
      if (text !== '') tokens.push({ text, kind: type === undefined ? null : (kindByType[type] ?? null) })
    },
    { languages },
  )
  return tokens
}

const kindByType: Readonly<Partial<Record<ShjToken, CodeTokenKind>>> = {
  bool: 'number',
  class: 'type',
  cmnt: 'comment',
  deleted: 'deleted',
  err: 'deleted',
  esc: 'operator',
  func: 'name',
  insert: 'inserted',
  kwd: 'keyword',
  num: 'number',
  oper: 'operator',
  section: 'keyword',
  str: 'string',
  type: 'type',
  var: 'name',
}

type Language = keyof typeof bundledLanguages

// The library's types are not made for exact optional properties.
const languages = bundledLanguages as unknown as Readonly<Record<Language, ShjLanguageData>>

const aliases: Readonly<Record<string, Language>> = {
  'c++': 'c',
  cc: 'c',
  console: 'bash',
  cpp: 'c',
  cs: 'java',
  csharp: 'java',
  dockerfile: 'docker',
  golang: 'go',
  h: 'c',
  javascript: 'js',
  jsonc: 'json',
  jsx: 'js',
  kotlin: 'java',
  kt: 'java',
  makefile: 'make',
  markdown: 'md',
  mjs: 'js',
  patch: 'diff',
  perl: 'pl',
  py3: 'py',
  python: 'py',
  python3: 'py',
  rust: 'rs',
  scala: 'java',
  sh: 'bash',
  shell: 'bash',
  svg: 'xml',
  swift: 'java',
  tsx: 'ts',
  typescript: 'ts',
  yml: 'yaml',
  zsh: 'bash',
}

function findLanguage(language: string): Language | undefined {
  const name = language.toLowerCase()
  return Object.hasOwn(aliases, name) ? aliases[name] : isLanguage(name) ? name : undefined
}

function isLanguage(name: string): name is Language {
  return Object.hasOwn(languages, name)
}
