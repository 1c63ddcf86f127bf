/** Renders the help texts from the command table, and the parts that the man page and the completions share. */
import { defineFlag } from './define-option.ts'
import type { Argument, Command, CommandGroup, CommandSpec, Example, Option, Program } from './command.ts'
import { isCommandGroup } from './command.ts'
import type { Language, LocalizedText } from './localized-text.ts'
import { translate } from './localized-text.ts'
import { measureWidth, padToWidth } from '../system/terminal/measure-width.ts'
import { wrapText } from '../system/terminal/wrap-text.ts'

export interface HelpLayout {
  readonly language: Language
  readonly columns: number
}

/** `svc --help`: examples first, then every command of the first level. */
export function renderProgramHelp<Handler>(program: Program<Handler>, given: HelpLayout): string {
  const layout = limitColumns(given)
  const { language } = layout
  const { name, sections, globalOptions } = program
  const visibleCommands = filterVisible(program.commands)
  const width = Math.max(...visibleCommands.map(({ name }) => name.length))
  return joinSections([
    renderExamples(program.examples, layout),
    `${getLabel('usage', language)} ${name} <command> [options]`,
    ...sections.map(({ title, commands }) =>
      renderTable(
        translate(title, language),
        visibleCommands.filter(({ name }) => commands.includes(name)).map((row) => [row.name, translate(row.summary, language)]),
        { ...layout, width },
      ),
    ),
    renderTable(
      getLabel('commands', language),
      visibleCommands
        .filter(({ name }) => !sections.some(({ commands }) => commands.includes(name)))
        .map((row) => [row.name, translate(row.summary, language)]),
      { ...layout, width },
    ),
    renderOptions(getLabel('options', language), [...globalOptions, ...standardOptions], layout),
    translate(
      { en: `More about one command: ${name} <command> --help`, zh: `查看某个命令的说明：${name} <命令> --help` },
      language,
    ),
  ])
}

/** Longer lines are hard to read. */
function limitColumns({ language, columns }: HelpLayout): HelpLayout {
  return { language, columns: Math.max(30, Math.min(100, columns)) }
}

/** `svc workspace --help`. */
export function renderGroupHelp<Handler>(
  program: Program<Handler>,
  group: CommandGroup<Handler>,
  path: readonly string[],
  given: HelpLayout,
): string {
  const layout = limitColumns(given)
  const { language } = layout
  const preset = group.commands.find(({ name }) => name === group.defaultCommand)
  return joinSections([
    renderExamples(group.examples, layout),
    `${getLabel('usage', language)} ${program.name} ${path.join(' ')} <command> [options]`,
    renderSummary(group, layout),
    renderTable(
      getLabel('commands', language),
      filterVisible(group.commands).map((inner) => [
        [inner.name, ...(inner.aliases ?? [])].join(', '),
        translate(inner.summary, language) + (inner === preset ? ` (${getLabel('default', language)})` : ''),
      ]),
      layout,
    ),
    // They can stand behind the group's name.
    ...(preset === undefined || isCommandGroup(preset) ? [] : renderParameters(preset, layout)),
  ])
}

/** `svc chat --help`. */
export function renderCommandHelp<Handler>(
  program: Program<Handler>,
  command: Command<Handler>,
  path: readonly string[],
  given: HelpLayout,
): string {
  const layout = limitColumns(given)
  const { language } = layout
  // An option and its value stay on one line.
  const usage = formatUsageLine(command, path).replaceAll(/(?<=--[\w-]+) (?=<)/g, '\u00a0')
  return joinSections([
    renderExamples(command.examples, layout),
    wrapText(`${getLabel('usage', language)} ${program.name} ${usage}`, layout.columns - 2)
      .join('\n  ')
      .replaceAll('\u00a0', ' '),
    renderSummary(command, layout),
    ...renderParameters(command, layout),
    renderOptions(getLabel('global', language), program.globalOptions, layout),
  ])
}

function renderParameters(command: Command<unknown>, layout: HelpLayout): readonly string[] {
  const { language } = layout
  return [
    renderTable(
      getLabel('arguments', language),
      (command.arguments ?? []).map((argument) => [
        formatArgument(argument),
        translate(argument.summary, language) + formatChoices(argument),
      ]),
      layout,
    ),
    renderOptions(getLabel('options', language), command.options ?? [], layout),
  ]
}

/** `chat [prompt...] [options]`: also the heading in the man page and in the README's table. */
export function formatUsageLine(command: Command<unknown>, path: readonly string[]): string {
  const requiredOptions = (command.options ?? [])
    .filter((option) => option.required === true)
    .map((option) => formatOption(option))
  const optional = (command.options ?? []).some((option) => option.required !== true) ? ['[options]'] : []
  return [...path, ...(command.arguments ?? []).map(formatArgument), ...requiredOptions, ...optional].join(' ')
}

export function formatArgument(argument: Argument): string {
  const name = argument.variadic === true ? `${argument.name}...` : argument.name
  return argument.optional === true ? `[${name}]` : `<${name}>`
}

/** `--model <id>` */
export function formatOption(option: Option): string {
  return option.kind === 'flag' ? `--${option.name}` : `--${option.name} <${option.placeholder ?? option.name}>`
}

export const standardOptions: readonly Option[] = [
  defineFlag('help', { en: 'show this help', zh: '显示帮助' }, { short: 'h' }),
  defineFlag('version', { en: 'print the version', zh: '显示版本' }, { short: 'V' }),
]

/** True for entries that help texts show. */
export function filterVisible<Kind extends { readonly hidden?: boolean }>(rows: readonly Kind[]): readonly Kind[] {
  return rows.filter((row) => row.hidden !== true)
}

function renderExamples(rows: readonly Example[], layout: HelpLayout): string {
  return renderTable(
    getLabel('examples', layout.language),
    rows.map(({ line, text = '' }) => [line, translate(text, layout.language)]),
    layout,
  )
}

function renderSummary(spec: CommandSpec<unknown>, { language, columns }: HelpLayout): string {
  const summary = `${translate(spec.summary, language)}${language === 'zh' ? '。' : '.'}`
  const text = summary.replace(/^./u, (letter) => letter.toUpperCase())
  const paragraphs = spec.description === undefined ? text : `${text}\n\n${translate(spec.description, language)}`
  return wrapText(paragraphs, columns).join('\n')
}

function renderOptions(heading: string, rows: readonly Option[], layout: HelpLayout): string {
  const { language } = layout
  return renderTable(
    heading,
    filterVisible(rows).map((option) => {
      const short = option.short === undefined ? '    ' : `-${option.short}, `
      const many = option.kind === 'list' ? ` (${getLabel('repeatable', language)})` : ''
      const requiredMark = option.required === true ? ` (${getLabel('required', language)})` : ''
      const preset = option.defaultText ?? option.default
      const presetText = preset === undefined ? '' : ` (${getLabel('default', language)}: ${translate(preset, language)})`
      return [
        `${short}${formatOption(option)}`,
        translate(option.summary, language) + formatChoices(option) + many + requiredMark + presetText,
      ]
    }),
    layout,
  )
}

function formatChoices(row: { readonly choices?: readonly string[] }): string {
  return row.choices === undefined ? '' : ` [${row.choices.join('|')}]`
}

/** The explanation stands beside the name, or below it where the name is too long for that. */
function renderTable(
  heading: string,
  rows: readonly (readonly [string, string] | readonly string[])[],
  { columns, width = 0 }: Pick<HelpLayout, 'columns'> & { readonly width?: number },
): string {
  if (rows.length === 0) return ''
  const names = rows.map(([name = '']) => measureWidth(name))
  const widest = Math.floor(columns * 0.55)
  const nameColumns = Math.max(width, ...names.filter((name) => name <= widest))
  const beside = columns - nameColumns - 4
  const lines = rows.flatMap(([name = '', text = '']) => {
    if (text === '') return [`  ${name}`]
    const [first = '', ...rest] = wrapText(text, beside)
    const fits = measureWidth(name) <= nameColumns && [first, ...rest].every((line) => measureWidth(line) <= beside)
    if (!fits) return [`  ${name}`, ...wrapText(text, columns - 6).map((line) => `      ${line}`)]
    return [
      `  ${padToWidth(name, nameColumns)}  ${first}`.trimEnd(),
      ...rest.map((line) => `${' '.repeat(nameColumns + 4)}${line}`),
    ]
  })
  return [heading, ...lines].join('\n')
}

function joinSections(parts: readonly string[]): string {
  return `${parts.filter((part) => part !== '').join('\n\n')}\n`
}

function getLabel(name: keyof typeof labels, language: Language): string {
  return translate(labels[name], language)
}

const labels = {
  usage: { en: 'Usage:', zh: '用法：' },
  examples: { en: 'Examples:', zh: '示例：' },
  commands: { en: 'Commands:', zh: '命令：' },
  arguments: { en: 'Arguments:', zh: '参数：' },
  options: { en: 'Options:', zh: '选项：' },
  global: { en: 'Options of every command:', zh: '通用选项：' },
  default: { en: 'default', zh: '默认' },
  required: { en: 'required', zh: '必填' },
  repeatable: { en: 'may be repeated', zh: '可重复' },
} as const satisfies Record<string, LocalizedText>
