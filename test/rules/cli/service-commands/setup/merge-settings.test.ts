/** Settings merged into files that people have written: what they contain afterwards, character by character. */
import t from 'tap'
import { assert, asyncProperty, constantFrom, dictionary, jsonValue, stringMatching } from 'fast-check'
import { mergeSettings } from '../../../../../src/cli/service-commands/setup/merge-settings.ts'
import type { FileFormat, SetupFile } from '../../../../../src/setup/client-setup.ts'

type Options = Partial<Pick<SetupFile, 'unlessSet' | 'listKeys'>>

function merge(format: FileFormat, wanted: string, text: string | undefined, options: Options = {}): Promise<string> {
  return mergeSettings({ path: '~/settings', format, text: wanted, ...options }, text, '/home/settings')
}

const codex = `model = "svc-2.1"
context = 128000

[providers.svc]
name = "svc"
url = "https://h/v1"
`

t.test('TOML keeps comments, order and layout, and gets new tables as sections', async (t) => {
  const text = `# mine
model = "gpt-5"   # the best
approval = 'never'
big = 12345678901234567890
since = 1979-05-27

[mcp.docs] # a server
args = [
  "-y", # yes
]

[providers.other]
name="o"
`
  t.equal(
    await merge('toml', codex, text),
    `# mine
model = "svc-2.1"   # the best
approval = 'never'
big = 12345678901234567890
since = 1979-05-27
context = 128000

[mcp.docs] # a server
args = [
  "-y", # yes
]

[providers.other]
name="o"

[providers.svc]
name = "svc"
url = "https://h/v1"
`,
  )
})

t.test('TOML is changed in each form in which a table can be written', async (t) => {
  for (const text of [
    'providers = { a = { name = "x" } }\n',
    'providers.svc.name = "old"\n',
    'providers.a.name = "x"\n',
    '[providers]\nsvc = { name = "old", extra = 1 }\n',
    '[providers]\n[providers.svc]\nurl = "old"\n',
    '[providers.svc.headers]\nx = "y"\n',
    '[[list]]\na = 1\n\n[[list]]\na = 2\n',
    '\uFEFFmodel = "x"\n',
    '# only a comment\n',
    '["providers"."svc"]\nname = \'old\'',
  ]) {
    const changed = await merge('toml', codex, text)
    t.equal(await merge('toml', codex, changed), changed, `twice in a row: ${text}`)
    t.equal(await merge('toml', changed, changed), changed)
    for (const part of ['svc-2.1', 'https://h/v1']) t.ok(changed.includes(part), text)
    for (const part of ['"x"', 'extra = 1', '[[list]]', '# only', '\uFEFF'])
      t.equal(changed.includes(part), text.includes(part) && !(part === '"x"' && text.startsWith('\uFEFF')), `${part} of ${text}`)
  }
})

const claude = `{
  "permissions": { "mode": "accept" },
  "env": { "URL": "https://h", "MODEL": "svc-2.1" }
}
`

t.test('JSON keeps comments, indentation and trailing commas', async (t) => {
  const text = `// mine
{
\t"env": {
\t\t"URL": "https://other", // old
\t\t"PATH": "/bin",
\t},
\t/* last */
\t"theme": "dark",
}
`
  t.equal(
    await merge('json', claude, text),
    `// mine
{
\t"env": {
\t\t"URL": "https://h", // old
\t\t"PATH": "/bin",
\t\t"MODEL": "svc-2.1",
\t},
\t/* last */
\t"theme": "dark",
\t"permissions": {
\t\t"mode": "accept"
\t},
}
`,
  )
  t.equal(await merge('json', claude, '{}'), await merge('json', claude, '{ }'), 'an empty object')
  for (const text of ['// nothing yet\n', '\uFEFF{"a": 1}', '{"env": null}', '{"a":1}']) {
    const changed = await merge('json', claude, text)
    t.equal(await merge('json', claude, changed), changed, text)
    t.match(changed, /svc-2\.1/)
    for (const part of ['// nothing yet', '\uFEFF', '"a"']) t.equal(changed.includes(part), text.includes(part))
  }
})

const yaml = `name: Svc
version: 1.0.0
models:
  - name: Main
    model: "svc-2.1"
    key: \${{ secrets.KEY }}
    roles: [chat]
  - name: Fast
    model: "svc-fast"
`

t.test('YAML keeps comments, quotes, anchors and the items of a list', async (t) => {
  const text = `# mine
name: 'Home'   # my name
defaults: &defaults
    temperature: 0.1

models:
    # local first
    - name: Local
      model: "llama"   # small
      <<: *defaults
    - name: Fast
      model: old
      roles: [edit]
prompt: |
    two
    lines
`
  const options: Options = { listKeys: { models: 'name' }, unlessSet: [{ path: ['name'] }] }
  const changed = await merge('yaml', yaml, text, options)
  t.equal(
    changed,
    `# mine
name: 'Home'   # my name
defaults: &defaults
    temperature: 0.1

models:
    # local first
    - name: Local
      model: "llama"   # small
      <<: *defaults
    - name: Fast
      model: svc-fast
      roles: [edit]
    - name: Main
      model: svc-2.1
      key: \${{ secrets.KEY }}
      roles:
          - chat
prompt: |
    two
    lines
version: 1.0.0
`,
  )
  t.equal(await merge('yaml', yaml, changed, options), changed, 'twice in a row')
  for (const text of ['models:\n', '# nothing yet\n', '---\na: 1\n', 'a: 1\r\nb:\r\n- c\r\n', 'models: []\n']) {
    const merged = await merge('yaml', yaml, text, options)
    t.equal(await merge('yaml', yaml, merged, options), merged, text)
    t.match(merged, /svc-2\.1/)
    for (const part of ['# nothing yet', 'a: 1', '\r\n', '\r\n- c'])
      t.equal(merged.includes(part), text.includes(part), `${JSON.stringify(part)} of ${text}`)
  }
})

t.test('lines of YAML that do not change keep their layout', async (t) => {
  const text = [
    '# mine',
    'name:    Mine   # a name',
    '',
    '',
    '# spaced',
    'prompts: [ \'a\',  "b" ]',
    'context:',
    '    - { provider:   code }',
    '    - provider: "docs"',
    '',
    'version: 1.0.0',
    '',
  ].join('\n')
  for (const original of [text, text.replaceAll('\n', '\r\n')]) {
    const merged = await merge('yaml', yaml, original, { listKeys: { models: 'name' }, unlessSet: [{ path: ['name'] }] })
    const lines = new Set(merged.split(/\r?\n/))
    for (const line of text.split('\n')) if (!line.startsWith('version')) t.ok(lines.has(line), line)
    t.equal(merged.includes('\r\n'), original.includes('\r\n'))
    t.equal(await merge('yaml', yaml, merged, { listKeys: { models: 'name' }, unlessSet: [{ path: ['name'] }] }), merged)
  }
})

t.test('a missing or empty file gets the text as it is', async (t) => {
  for (const text of [undefined, '', ' \n']) t.equal(await merge('toml', codex, text), codex)
})

t.test('a value that the member chose is kept', async (t) => {
  const options: Options = { unlessSet: [{ path: ['permissions', 'mode'] }] }
  t.match(await merge('json', claude, '{"permissions": {"mode": "plan"}}', options), /"mode": "plan"/)
  t.match(await merge('json', claude, '{"permissions": {"allow": []}}', options), /"allow": \[\],\s+"mode": "accept"/)
})

t.test('a broken file is refused with its line', async (t) => {
  for (const [format, text, line] of [
    ['toml', 'a = 1\nb = [\n', 2],
    ['toml', 'a = 1\na = 2\n', null],
    ['json', '{\n  "a": 1\n  "b": 2\n}', 3],
    ['json', '[1]', 1],
    ['json', '{"a": 1', 1],
    ['yaml', 'a: 1\nb: [1\n', 3],
    ['yaml', '- a\n', 1],
    ['yaml', 'a: 1\n---\nb: 2\n', null],
    ['yaml', 'text', 1],
  ] as const) {
    const wanted = { toml: codex, json: claude, yaml }[format]
    await t.rejects(merge(format, wanted, text), { code: 'settings_broken', message: /\/home\/settings/ }, text)
    const error = await merge(format, wanted, text).catch((error: { details: { line: number | null } }) => error)
    if (line !== null && typeof error === 'object') t.equal(error.details.line, line, text)
  }
})

t.test('a value in the place of a table is refused by its name', async (t) => {
  for (const [format, text, name] of [
    ['json', '{"env": "x"}', 'env'],
    ['json', '{"env": []}', 'env'],
    ['toml', 'providers = 1\n', 'providers'],
    ['toml', '[[providers]]\na = 1\n', 'providers'],
  ] as const)
    await t.rejects(
      merge(format, format === 'toml' ? codex : claude, text),
      { code: 'settings_conflict', message: `${name} in /home/settings` },
      text,
    )
})

t.test('a file with the same key twice is refused where a change would not count', async (t) => {
  await t.rejects(merge('json', claude, '{"env": {"URL": "a"}, "env": {"URL": "b"}}'), { code: 'settings_unmergeable' })
})

t.test('any object of JSON keeps every other value', async (t) => {
  const key = stringMatching(/^[a-z]{1,6}$/)
  await assert(
    asyncProperty(dictionary(key, jsonValue()), constantFrom(0, 2, 4), async (mine, indentation) => {
      const { env: _, permissions: __, ...rest } = mine
      const changed = await merge('json', claude, JSON.stringify(rest, null, indentation))
      const { env, permissions, ...kept } = JSON.parse(changed)
      t.strictSame(JSON.stringify(kept), JSON.stringify(rest))
      t.strictSame({ env, permissions }, JSON.parse(claude))
    }),
    { numRuns: 100 },
  )
})
