/** Chinese sentences have full-width punctuation: on the website, in failures, emails, settings of programs, the demonstration and the command. */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'

const root = fileURLToPath(new URL('../../..', import.meta.url))
// Rules for Markdown name marks of either width.
const sources = globSync(['src/**/*.ts', 'plugins/*.ts'], { cwd: root, exclude: ['src/markdown/**'] })
const halfWidth = /[\p{Script=Han}”][,:;!?()]|[,:;!?()][\p{Script=Han}“]/u

/** What stands in quotes, without code inside of it and links of Markdown; an English sentence may end in a quotation mark. */
function findTexts(source: string): string[] {
  const code = source.replaceAll(/\/\*[^]*?\*\/|^\s*\/\/.*$/gm, '').replaceAll(/\]\([^)\s]*\)/g, ']')
  return [...code.matchAll(/'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`/g)]
    .map(([text]) => text)
    .filter((text) => /\p{Script=Han}/u.test(text))
}

t.test('no half-width comma, colon, semicolon or parenthesis stands beside a Chinese character', async (t) => {
  const texts = sources.flatMap((path) => findTexts(readFileSync(join(root, path), 'utf8')).map((text) => ({ path, text })))
  t.ok(texts.length > 900, `${texts.length} texts`)
  t.same(
    texts.filter(({ text }) => text.split('\n').some((line) => halfWidth.test(line))).map(({ path, text }) => `${path}: ${text}`),
    [],
  )
})
