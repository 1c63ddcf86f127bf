/** The stylesheets keep to the scales of `styles/foundation/tokens.css`: sizes of text, space, corners, colours and times have a name there. */
import { globSync, readFileSync } from 'node:fs'
import t from 'tap'

const folder = new URL('../../../src/pages/browser/styles/', import.meta.url)
const tokenSheets = ['foundation/tokens.css', 'dark.css']

interface Declaration {
  readonly at: string
  readonly name: string
  readonly value: string
}

const sheets = globSync('**/*.css', { cwd: folder }).toSorted()
const declarations = sheets
  .filter((path) => !tokenSheets.includes(path) && path !== 'foundation/font.css')
  .flatMap((path) => readDeclarations(path))
const tokens = new Set(tokenSheets.flatMap((path) => readDeclarations(path)).map(({ name }) => name))

const scales = [
  {
    title: 'space',
    properties: /^(?:(?:margin|padding)(?:-[a-z-]+)?|(?:row-|column-)?gap)$/,
    // The browser's own words, and what a device reserves at its edges.
    allowed:
      /var\(--(?:s\d|s-[a-z]+|gutter)\)|calc\(-1 \* var\(--s\d\)\)|\bauto\b|(?<![\w.])0(?![\w.])|\bmax\(|env\([a-z-]+\)|[(),]/g,
  },
  { title: 'corners', properties: /radius$/, allowed: /var\(--radius(?:-[a-z]+)?\)|(?<![\w.])0(?![\w.])/g },
  { title: 'sizes of text', properties: /^font-size$/, allowed: /var\(--text-[a-z\d]+\)|\binherit\b/g },
  {
    title: 'sizes of text in `font`',
    properties: /^font$/,
    allowed: /var\(--(?:text-[a-z\d]+|sans|mono)\)|\binherit\b|\b[1-9]\d0\b|\/ \d(?:\.\d+)?/g,
  },
  {
    title: 'times',
    properties: /^(?:transition|animation)(?:-duration|-delay)?$/,
    allowed: /calc\(var\(--motion-pulse\) \/ \d+\)|var\(--motion(?:-[a-z]+)?\)|\b[a-z][a-z-]*\b|,/g,
  },
] as const

/** Values beside a scale, each with its reason. */
const exceptions: Readonly<Record<string, string>> = {
  'font-size: 0.9em': 'monospaced letters are wider than those they stand among',
  'font-size: max(1rem, 16px) !important': 'iOS zooms in on a field whose text is smaller, whatever the size of the root',
  'padding: 0.1em 0.35em': 'the ground of a word of code grows with its text',
  'margin-left: 0.15em': 'the cursor of an answer is as far from its text as a letter',
  'margin-left: 0.35em': 'as far as a space of the text',
  'animation-duration: 0.01ms !important': 'no motion for readers who want none',
  'transition-duration: 0.01ms !important': 'no motion for readers who want none',
}

for (const { title, properties, allowed } of scales)
  t.test(`${title} come from the scale`, async (t) => {
    const own = declarations.filter(({ name }) => properties.test(name))
    t.ok(own.length > 3, `${own.length} declarations`)
    t.same(
      own
        .filter(({ value }) => value.replaceAll(allowed, '').trim() !== '')
        .filter(({ name, value }) => exceptions[`${name}: ${value}`] === undefined)
        .map(({ at, name, value }) => `${at}: ${name}: ${value}`),
      [],
    )
  })

t.test('colours have names', async (t) => {
  t.same(
    declarations
      .filter(({ value }) => /#[\da-f]{3,8}\b|\b(?:rgb|hsl|oklch)a?\(/.test(value))
      .map(({ at, name, value }) => `${at}: ${name}: ${value}`),
    [],
  )
})

t.test('every variable is a token or set in the sheets, and every token and exception is used', async (t) => {
  const all = sheets.map((path) => readFileSync(new URL(path, folder), 'utf8')).join('\n')
  const used = new Set([...all.matchAll(/var\((--[\w-]+)/g)].map(([, name]) => name ?? ''))
  const set = new Set(declarations.filter(({ name }) => name.startsWith('--')).map(({ name }) => name))
  t.same(
    [...used].filter((name) => !tokens.has(name) && !set.has(name)),
    [],
    'no unknown variable',
  )
  t.same(
    [...tokens].filter((name) => name.startsWith('--') && !used.has(name)),
    [],
    'no token without a use',
  )
  const found = new Set(declarations.map(({ name, value }) => `${name}: ${value}`))
  t.same(
    Object.keys(exceptions).filter((exception) => !found.has(exception)),
    [],
    'no exception without a use',
  )
})

t.test('every sheet is an entry or imported by one', async (t) => {
  const imports = sheets
    .flatMap((path) => [...readFileSync(new URL(path, folder), 'utf8').matchAll(/@import '\.\/([^']+)'/g)])
    .map(([, path]) => path ?? '')
  t.same(
    [...new Set(imports)].toSorted(),
    sheets.filter((path) => path.includes('/')),
  )
})

/** The declarations of a sheet, which the formatter writes one a line or over several lines up to a semicolon. */
function readDeclarations(path: string): Declaration[] {
  const sheet = readFileSync(new URL(path, folder), 'utf8').replaceAll(/\/\*[\s\S]*?\*\//g, '')
  return [...sheet.matchAll(/(?<=[{;]\s*)(-{0,2}[a-z][\w-]*):\s*([^;{}]+);/g)].map(([, name = '', value = '']) => ({
    at: path,
    name,
    value: value.replaceAll(/\s+/g, ' ').trim(),
  }))
}
