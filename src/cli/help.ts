/** The help texts, made from the table, and the pieces of them that the man page and the completions need as well. */
import type { Argument, Command, CommandGroup, Example, Option, Row } from './command.ts'
import { globalOptions } from './command.ts'
import type { Language, Text } from './text.ts'
import { inLanguage } from './text.ts'
import { pad } from './width.ts'

/** `svc --help`: examples first, then every command of the first level. */
export function programHelp(rows: readonly Row[], language: Language): string {
  return sections([
    examples(programExamples, language),
    `${word('usage', language)} svc <command> [options]`,
    table(
      word('commands', language),
      visible(rows).map((row) => [row.name, inLanguage(row.summary, language)]),
    ),
    options(word('options', language), [...globalOptions, ...standardOptions], language),
    inLanguage({ en: 'More about one command: svc <command> --help', zh: '查看某个命令的说明:svc <命令> --help' }, language),
  ])
}

/** `svc workspace --help`. */
export function groupHelp(row: CommandGroup, path: readonly string[], language: Language): string {
  return sections([
    examples(row.examples, language),
    `${word('usage', language)} svc ${path.join(' ')} <command> [options]`,
    about(row, language),
    table(
      word('commands', language),
      visible(row.commands).map((inner) => [
        [inner.name, ...(inner.aliases ?? [])].join(', '),
        inLanguage(inner.summary, language) + (inner.name === row.defaultCommand ? ` (${word('default', language)})` : ''),
      ]),
    ),
  ])
}

/** `svc chat --help`. */
export function commandHelp(row: Command, path: readonly string[], language: Language): string {
  return sections([
    examples(row.examples, language),
    `${word('usage', language)} svc ${usageLine(row, path)}`,
    about(row, language),
    table(
      word('arguments', language),
      (row.arguments ?? []).map((argument) => [
        argumentWord(argument),
        inLanguage(argument.summary, language) + choices(argument),
      ]),
    ),
    options(word('options', language), row.options ?? [], language),
    options(word('global', language), globalOptions, language),
  ])
}

/** `chat [prompt...] [options]`: also the heading in the man page and in the README's table. */
export function usageLine(row: Command, path: readonly string[]): string {
  const required = (row.options ?? []).filter((option) => option.required === true).map((option) => optionWord(option))
  const optional = (row.options ?? []).some((option) => option.required !== true) ? ['[options]'] : []
  return [...path, ...(row.arguments ?? []).map(argumentWord), ...required, ...optional].join(' ')
}

export function argumentWord(argument: Argument): string {
  const name = argument.variadic === true ? `${argument.name}...` : argument.name
  return argument.optional === true ? `[${name}]` : `<${name}>`
}

/** `--model <id>` */
export function optionWord(option: Option): string {
  return option.kind === 'flag' ? `--${option.name}` : `--${option.name} <${option.placeholder ?? option.name}>`
}

export const standardOptions: readonly Option[] = [
  { name: 'help', short: 'h', kind: 'flag', summary: { en: 'show this help', zh: '显示帮助' } },
  { name: 'version', short: 'V', kind: 'flag', summary: { en: 'print the version', zh: '显示版本' } },
]

export const programExamples: readonly Example[] = [
  { line: 'svc login', text: { en: 'sign in from this terminal', zh: '在终端中登录' } },
  { line: 'svc chat "Explain TCP slow start in two sentences"', text: { en: 'ask once', zh: '单次提问' } },
  { line: 'svc search "latest Node.js release"', text: { en: 'search the web', zh: '联网搜索' } },
]

/** What the reader of a help text may see. */
export function visible<Kind extends { readonly hidden?: boolean }>(rows: readonly Kind[]): readonly Kind[] {
  return rows.filter((row) => row.hidden !== true)
}

function examples(rows: readonly Example[], language: Language): string {
  return table(
    word('examples', language),
    rows.map((row) => [row.line, inLanguage(row.text, language)]),
  )
}

function about(row: Row, language: Language): string {
  const summary = `${inLanguage(row.summary, language)}${language === 'zh' ? '。' : '.'}`
  const text = summary.replace(/^./u, (letter) => letter.toUpperCase())
  return row.description === undefined ? text : `${text}\n\n${inLanguage(row.description, language)}`
}

function options(heading: string, rows: readonly Option[], language: Language): string {
  return table(
    heading,
    visible(rows).map((option) => {
      const short = option.short === undefined ? '    ' : `-${option.short}, `
      const many = option.kind === 'list' ? ` (${word('repeatable', language)})` : ''
      const needed = option.required === true ? ` (${word('required', language)})` : ''
      const preset =
        option.defaultText === undefined ? '' : ` (${word('default', language)}: ${inLanguage(option.defaultText, language)})`
      return [`${short}${optionWord(option)}`, inLanguage(option.summary, language) + choices(option) + many + needed + preset]
    }),
  )
}

function choices(row: { readonly choices?: readonly string[] }): string {
  return row.choices === undefined ? '' : ` [${row.choices.join('|')}]`
}

function table(heading: string, rows: readonly (readonly [string, string] | readonly string[])[]): string {
  if (rows.length === 0) return ''
  const width = Math.min(56, Math.max(...rows.map(([left = '']) => left.length)))
  return [heading, ...rows.map(([left = '', right = '']) => `  ${pad(left, width)}  ${right}`)].join('\n')
}

function sections(parts: readonly string[]): string {
  return `${parts.filter((part) => part !== '').join('\n\n')}\n`
}

function word(name: keyof typeof words, language: Language): string {
  return inLanguage(words[name], language)
}

const words = {
  usage: { en: 'Usage:', zh: '用法:' },
  examples: { en: 'Examples:', zh: '示例:' },
  commands: { en: 'Commands:', zh: '命令:' },
  arguments: { en: 'Arguments:', zh: '参数:' },
  options: { en: 'Options:', zh: '选项:' },
  global: { en: 'Options of every command:', zh: '通用选项:' },
  default: { en: 'default', zh: '默认' },
  required: { en: 'required', zh: '必填' },
  repeatable: { en: 'may be repeated', zh: '可重复' },
} as const satisfies Record<string, Text>
