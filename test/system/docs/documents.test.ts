/** Checks of the documents and of the language in comments and test titles. `STYLE.md` has the rules. */
import { existsSync, globSync, readFileSync, readdirSync, statSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'

const root = fileURLToPath(new URL('../../..', import.meta.url))
const generatedFolders = new Set(['node_modules', '.tap', '.git', 'dist', 'data', 'results', 'profiles'])
const isGenerated = (name: string) => generatedFolders.has(name)

const documents = globSync(['*.md', '{docs,src,plugins,bench,examples,deploy,test,.github}/**/*.md'], {
  cwd: root,
  exclude: isGenerated,
}).toSorted()
const sources = globSync(['*.ts', '{src,plugins,test,bench,bin,docs,examples,.ci}/**/*.{ts,js,sh}', '.ci/run', 'deploy/**/*'], {
  cwd: root,
  exclude: isGenerated,
})
  .filter((path) => statSync(join(root, path)).isFile())
  .toSorted()

/** `STYLE.md` quotes what it refuses, and so does this file. */
const quoting = new Set(['STYLE.md', 'test/system/docs/documents.test.ts'])

const refusedWords =
  /\b(?:whoever|nobody|somebody|desks?|purses?|lanes?|rosters?|likeness(?:es)?|chores?|owed|last word|lent memory)\b/gi

function findRefusedWords(text: string): string[] {
  return [...text.matchAll(refusedWords)].map(([word]) => word)
}

/** Comments of TypeScript, JavaScript and shell, with the lines they are on. */
function extractComments(path: string, text: string): string[] {
  if (path.endsWith('.ts') || path.endsWith('.js'))
    return [...text.matchAll(/\/\*[^]*?\*\/|(?<=^|[^:'"`\\])\/\/[^\n]*/g)].map(([comment]) => comment)
  return [...text.matchAll(/^\s*#[^\n]*/gm)].map(([comment]) => comment)
}

function extractTitles(path: string, text: string): string[] {
  if (!path.endsWith('.test.ts')) return []
  return [...text.matchAll(/\bt\.test\(\s*(['"`])((?:(?!\1).)*)\1/g)].map(([, , title = '']) => title)
}

/** Markdown without its code blocks. */
function stripCodeBlocks(text: string): string {
  return text.replaceAll(/^```[^]*?^```/gm, '')
}

const topLevelNames = new Set(readdirSync(root))

/** What is written in backticks and looks like a path of this repository: `src/…`, or a relative path with a file's ending. */
function extractPaths(text: string): string[] {
  return [...stripCodeBlocks(text).matchAll(/`([^`\s]+)`/g)]
    .map(([, quoted = '']) => quoted.replace(/^\.\//, '').replace(/:\d+$/, ''))
    .filter((path) => /^[\w.@*{},/-]+$/.test(path) && path.includes('/'))
    .filter((path) => {
      const [first = ''] = path.split('/')
      // `data/` is made by a start and `dist/` by a build.
      if (isGenerated(first) || path.startsWith('bench/results')) return false
      return topLevelNames.has(first) || /\.(?:ts|js|md|sh|cfg|yaml|sql)$/.test(path)
    })
}

const resolvesFrom = (folder: string, path: string) => globSync(path, { cwd: folder }).length > 0

function toAnchor(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replaceAll(/\s/g, '-')
}

function hasAnchor(file: string, anchor: string): boolean {
  return [...readFileSync(file, 'utf8').matchAll(/^#+ (.+)$/gm)].some(([, heading = '']) => toAnchor(heading) === anchor)
}

t.ok(documents.length > 10 && sources.length > 500, `${documents.length} documents and ${sources.length} sources are checked`)

t.test('every path that a document names in backticks exists', async (t) => {
  for (const path of documents) {
    const folder = join(root, dirname(path))
    const missing = extractPaths(readFileSync(join(root, path), 'utf8')).filter(
      (named) => !quoting.has(path) && ![root, folder, join(root, 'src')].some((from) => resolvesFrom(from, named)),
    )
    t.same(missing, [], path)
  }
})

t.test('every link of a document leads to a file, and to a heading where it names one', async (t) => {
  for (const path of documents) {
    const text = stripCodeBlocks(readFileSync(join(root, path), 'utf8'))
    const broken = [...text.matchAll(/\]\((?!https?:|mailto:)([^)\s]+)\)/g)]
      .map(([, target = '']) => target)
      .filter((target) => {
        const [file = '', anchor] = target.split('#')
        const full = file === '' ? join(root, path) : join(root, dirname(path), file)
        return !existsSync(full) || (anchor !== undefined && full.endsWith('.md') && !hasAnchor(full, anchor))
      })
    t.same(broken, [], path)
  }
})

t.test('a line of a document has one sentence', async (t) => {
  for (const path of documents) {
    const long = stripCodeBlocks(readFileSync(join(root, path), 'utf8'))
      .split('\n')
      .filter((line) => !/^\s*[|>#]/.test(line))
      .filter((line) =>
        /[\p{Ll}\d)`’”"][.!?][”"]? +(?:[\p{Lu}`]|\[)/u.test(line.replaceAll(/"[^"]*"/g, '""').replace(/^\s*\d+\. /, '')),
      )
    t.same(long, [], path)
  }
})

t.test('documents use the words of the field', async (t) => {
  for (const path of documents.filter((each) => !quoting.has(each)))
    t.same(findRefusedWords(readFileSync(join(root, path), 'utf8')), [], path)
})

t.test('comments and test titles use the words of the field', async (t) => {
  const found = sources
    .filter((path) => !quoting.has(path))
    .flatMap((path) => {
      const text = readFileSync(join(root, path), 'utf8')
      return [...extractComments(path, text), ...extractTitles(path, text)].flatMap((words) =>
        findRefusedWords(words).map((word) => `${relative('.', path)}: ${word}: ${words.slice(0, 100)}`),
      )
    })
  t.same(found, [])
})

t.test('documents keep their length', async (t) => {
  const maxLines = {
    'README.md': 120,
    'CONTRIBUTING.md': 60,
    'src/README.md': 12,
    'docs/architecture.md': 180,
    'docs/ledger.md': 180,
  }
  for (const [path, max] of Object.entries(maxLines)) t.ok(countLines(path) <= max, `${path} has at most ${max} lines`)
  const terms = readFileSync(join(root, 'docs/glossary.md'), 'utf8').match(/^\| (?!Term|-)/gm) ?? []
  t.ok(terms.length > 30 && terms.length <= 40, `the glossary has ${terms.length} terms`)
})

t.test('architecture.md has every room, in the order of the layers', async (t) => {
  const source = readFileSync(join(root, 'test/system/architecture.test.ts'), 'utf8')
  const layers = [...(/const layers: [^=]*= \[\n([^]*?)\n\]/.exec(source)?.[1] ?? '').matchAll(/\[(.*)\]/g)].map(
    ([, rooms = '']) => [...rooms.matchAll(/'([\w-]+)'/g)].map(([, room = '']) => room),
  )
  t.ok(layers.length > 8, `${layers.length} layers`)
  const rows = [...readFileSync(join(root, 'docs/architecture.md'), 'utf8').matchAll(/^\| `src\/([\w-]+)\/` \|/gm)].map(
    ([, room = '']) => room,
  )
  t.same(
    rows.toSorted(),
    layers
      .flat()
      .filter((room) => room !== 'errors')
      .toSorted(),
  )
  const heights = rows.map((room) => layers.findIndex((rooms) => rooms.includes(room)))
  t.same(
    heights,
    heights.toSorted((one, other) => other - one),
  )
})

t.test('every decision record is short, complete and in the index', async (t) => {
  const index = readFileSync(join(root, 'docs/adr/README.md'), 'utf8')
  const records = readdirSync(join(root, 'docs/adr')).filter((name) => name !== 'README.md')
  t.ok(records.length >= 45, `${records.length} records`)
  for (const [position, name] of records.toSorted().entries()) {
    const text = readFileSync(join(root, 'docs/adr', name), 'utf8')
    t.ok(name.startsWith(String(position + 1).padStart(4, '0')), `${name} has the next number`)
    t.ok(index.includes(`](${name})`), `${name} is in the index`)
    t.ok(countLines(`docs/adr/${name}`) < 50, `${name} has fewer than 50 lines`)
    for (const heading of ['Context', 'Decision', 'Consequences', 'Revisit when'])
      t.ok(text.includes(`\n## ${heading}\n`), `${name} has '${heading}'`)
  }
})

function countLines(path: string): number {
  return readFileSync(join(root, path), 'utf8').trimEnd().split('\n').length
}

t.test('each check refuses what it is for', async (t) => {
  t.same(findRefusedWords('Nobody is at the desk of whoever is owed the last word'), [
    'Nobody',
    'desk',
    'whoever',
    'owed',
    'last word',
  ])
  t.same(findRefusedWords('desktop, airplane, account-balance'), [])
  t.same(extractComments('a.ts', "const url = 'http://x' // why\n/** what */"), ['// why', '/** what */'])
  t.same(extractTitles('a.test.ts', "t.test('refuses a second server', async"), ['refuses a second server'])
  t.same(extractPaths('`src/gone.ts` `sqlite/gone.ts` `data/outbox/` `GET /v1/models` `npm run docs`\n```\n`src/x.ts`\n```'), [
    'src/gone.ts',
    'sqlite/gone.ts',
  ])
  t.equal(toAnchor('What to configure?'), 'what-to-configure')
})
