/** Renders the reference from the command table: the manual page and the README's list of commands. */
import type { Argument, Command, CommandGroup, Example, Option, Program } from './command.ts'
import { isCommandGroup } from './command.ts'
import { formatArgument, formatOption, standardOptions, formatUsageLine, filterVisible } from './help.ts'
import type { Language, LocalizedText } from './localized-text.ts'
import { translate } from './localized-text.ts'
import type { CommandPath } from './flatten-commands.ts'
import { flattenCommands } from './flatten-commands.ts'

/** The manual page in roff's man macros. */
export function renderManPage<Handler>(program: Program<Handler>, version: string, language: Language): string {
  const { name, manual } = program
  const localize = (text: LocalizedText) => escapeRoff(translate(text, language))
  const describe = (name: string, text: string) => `.TP\n\\fB${escapeRoff(name)}\\fR\n${text}`
  const example = ({ line, text }: Example) =>
    text === undefined ? `.PP\n\\fB${escapeRoff(line)}\\fR` : describe(line, localize(text))
  const option = (row: Option) =>
    describe((row.short === undefined ? '' : `-${row.short}, `) + formatOption(row), localize(row.summary))
  const parts = [
    `.TH ${escapeRoff(name.toUpperCase())} ${manual.section} "" "${escapeRoff(`${name} ${version}`)}" "${escapeRoff(name)}"`,
    // Chinese has no spaces to widen, and groff warns of each line that it cannot adjust.
    ...(language === 'zh' ? ['.ad l'] : []),
    `.SH ${localize({ en: 'NAME', zh: '名称' })}`,
    `${escapeRoff(name)} \\- ${localize(manual.summary)}`,
    `.SH ${localize({ en: 'SYNOPSIS', zh: '概要' })}`,
    `.B ${escapeRoff(name)}\n.I command\n[options]`,
    `.SH ${localize({ en: 'EXAMPLES', zh: '示例' })}`,
    ...program.examples.map(example),
    `.SH ${localize({ en: 'COMMANDS', zh: '命令' })}`,
    ...flattenCommands(program.commands).map((place) => renderEntry(name, place, { localize, option, example })),
    `.SH ${localize({ en: 'OPTIONS OF EVERY COMMAND', zh: '通用选项' })}`,
    ...[...program.globalOptions, ...standardOptions].map(option),
    `.SH ${localize({ en: 'EXIT STATUS', zh: '退出码' })}`,
    ...manual.exitCodes.map((exit) => describe(String(exit.code), escapeRoff(exit[language]))),
    `.SH ${localize({ en: 'ENVIRONMENT', zh: '环境变量' })}`,
    ...manual.environment.map((row) => describe(row.name, localize(row.summary))),
    `.SH ${localize({ en: 'FILES', zh: '文件' })}`,
    ...manual.files.map((row) => describe(row.name, localize(row.summary))),
  ]
  return `${parts.join('\n')}\n`
}

/** The table of commands for the README, one line each. */
export function renderMarkdownTable<Handler>({ name, commands }: Program<Handler>, language: Language): string {
  const cell = (text: string) => text.replaceAll('|', '\\|')
  const lines = flattenCommands(commands).flatMap(({ path, spec }) =>
    isCommandGroup(spec)
      ? []
      : [
          `| \`${name} ${cell(formatUsageLine(spec, path))}\` | ${cell(translate(spec.summary, language))} | \`${cell(spec.examples[0].line)}\` |`,
        ],
  )
  const heading = translate({ en: '| Command | What it does | Example |', zh: '| 命令 | 作用 | 示例 |' }, language)
  return [heading, '|---|---|---|', ...lines, ''].join('\n')
}

interface EntryRenderers {
  readonly localize: (text: LocalizedText) => string
  readonly option: (row: Option) => string
  readonly example: (row: Example) => string
}

function renderEntry(program: string, { path, spec }: CommandPath<unknown>, renderers: EntryRenderers): string {
  const { localize } = renderers
  const words = isCommandGroup(spec) ? path.join(' ') : formatUsageLine(spec, path)
  const parts = isCommandGroup(spec) ? renderGroup(spec, localize) : renderCommand(spec, renderers)
  const description = spec.description === undefined ? [] : ['.PP', localize(spec.description)]
  return [`.SS ${escapeRoff(`${program} ${words}`)}`, ...parts, ...description].join('\n')
}

function renderGroup(group: CommandGroup<unknown>, localize: EntryRenderers['localize']): readonly string[] {
  const names = filterVisible(group.commands).map((inner) => escapeRoff(inner.name))
  return [`${localize(group.summary)}: ${names.join(', ')}`]
}

function renderCommand(command: Command<unknown>, { localize, option, example }: EntryRenderers): readonly string[] {
  const argument = (argument: Argument) => `.TP\n\\fI${escapeRoff(formatArgument(argument))}\\fR\n${localize(argument.summary)}`
  return [
    localize(command.summary),
    ...command.examples.map(example),
    ...(command.arguments ?? []).map(argument),
    ...filterVisible(command.options ?? []).map(option),
  ]
}

/** Escapes text for roff: backslashes, hyphens, and dots and quotes that begin a line. */
function escapeRoff(text: string): string {
  return text
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replaceAll(/^(?=[.'])/gm, '\\&')
}
