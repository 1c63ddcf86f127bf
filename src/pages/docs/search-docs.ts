/** Finds sections of the documentation that have all words of a query. */
import type { Services } from '../../services/services.ts'
import type { Language } from '../language.ts'
import { docsPages, writeDocsPage } from './docs-pages.ts'

export interface DocsMatch {
  readonly page: string
  /** Empty for what stands before the first heading of a page. */
  readonly heading: string
  readonly path: string
  /** A piece of the text around the first word. */
  readonly excerpt: string
}

const maxMatches = 20
const maxQueryLength = 100
const excerptLength = 140

export function searchDocs(query: string, services: Services, language: Language): readonly DocsMatch[] {
  const words = query.slice(0, maxQueryLength).toLowerCase().split(/\s+/).filter(Boolean)
  if (words.length === 0) return []
  return docsPages
    .flatMap((page) => splitSections(writeDocsPage(page, services, language)).map((section) => ({ page, ...section })))
    .map(({ page, heading, anchor, text }) => {
      const title = `${page.title[language]} ${heading}`.toLowerCase()
      const searchedText = `${title} ${text.toLowerCase()}`
      const isMatch = words.every((word) => searchedText.includes(word))
      // A word in a title counts more than one in the text.
      const rank = isMatch ? 1 + words.filter((word) => title.includes(word)).length : 0
      const path = anchor === '' ? page.path : `${page.path}#${anchor}`
      return { rank, match: { page: page.title[language], heading, path, excerpt: cutExcerpt(text, words[0] ?? '') } }
    })
    .filter(({ rank }) => rank > 0)
    .toSorted((one, other) => other.rank - one.rank)
    .slice(0, maxMatches)
    .map(({ match }) => match)
}

function splitSections(markdown: string): { heading: string; anchor: string; text: string }[] {
  return markdown.split(/^(?=##+ )/m).map((part) => {
    const [, heading = '', anchor = ''] = /^##+ (.*?) \{#([\w-]+)\}\n/.exec(part) ?? []
    return { heading, anchor, text: toWords(part.replace(/^#+ .*\n/, '')) }
  })
}

function toWords(markdown: string): string {
  return markdown
    .replaceAll(/^```.*$/gm, '')
    .replaceAll(/\]\([^)]*\)/g, ']')
    .replaceAll(/[`*[\]|]|-{3,}/g, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim()
}

function cutExcerpt(text: string, word: string): string {
  const at = Math.max(0, text.toLowerCase().indexOf(word) - 40)
  return `${at > 0 ? '… ' : ''}${text.slice(at, at + excerptLength)}${text.length > at + excerptLength ? ' …' : ''}`
}
