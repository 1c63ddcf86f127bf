import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import Koa from 'koa'
import type { Context } from 'koa'
import t from 'tap'
import { negotiateLanguage } from '../../../src/pages/language.ts'
import { texts } from '../../../src/pages/texts/texts.ts'

const cases: readonly [string | undefined, 'en' | 'zh'][] = [
  [undefined, 'en'],
  ['', 'en'],
  ['zh-CN,zh;q=0.9,en;q=0.8', 'zh'],
  ['zh-Hant-TW', 'zh'],
  ['en-GB,zh;q=0.9', 'en'],
  ['fr-FR,zh;q=0.5,en;q=0.4', 'zh'],
  ['fr, de', 'en'],
  ['zh;q=0, en;q=0.1', 'en'],
  ['*;q=0.5', 'en'],
  ['en;q=0.3, zh;q=0.7', 'zh'],
  ['EN-us', 'en'],
  [';;;=,,q', 'en'],
]

/** A request with this header, as Koa reads it. */
function asking(header: string | undefined): Context {
  const request = new IncomingMessage(new Socket())
  if (header !== undefined) request.headers['accept-language'] = header
  return new Koa().createContext(request, new ServerResponse(request))
}

t.test('picks the first supported language of the reader’s preferences', async (t) => {
  for (const [header, language] of cases) t.equal(negotiateLanguage(asking(header)), language, String(header))
})

t.test('both languages have the same texts with the same placeholders', async (t) => {
  const blanks = (value: unknown, place = ''): string[] => {
    if (typeof value === 'string') return [`${place} ${(value.match(/\{\w+\}/g) ?? []).sort().join(' ')}`]
    if (typeof value !== 'object' || value === null) return []
    return Object.entries(value).flatMap(([key, inner]) => blanks(inner, `${place}.${key}`))
  }
  t.same(blanks(texts.zh), blanks(texts.en))
})

t.test('no sentence was left untranslated', async (t) => {
  const sentences = (value: unknown): string[] =>
    typeof value === 'string'
      ? [value]
      : typeof value === 'object' && value !== null
        ? Object.values(value).flatMap(sentences)
        : []
  const english = new Set(sentences(texts.en).filter((text) => / \w+ /.test(text)))
  t.same(
    sentences(texts.zh).filter((text) => english.has(text)),
    [],
  )
})
