/** Renders the reference from the command table: the manual page svc(1) and the README's list of commands. */
import type { Argument, Command, CommandGroup, Option, CommandSpec } from './command.ts'
import { globalOptions, isCommandGroup } from './command.ts'
import { environmentVariables } from './environment-variables.ts'
import { exitCodes } from '../exit-code.ts'
import { formatArgument, formatOption, programExamples, standardOptions, formatUsageLine, filterVisible } from './help.ts'
import type { Language, LocalizedText } from '../localized-text.ts'
import { translate } from '../localized-text.ts'
import type { CommandPath } from './flatten-commands.ts'
import { flattenCommands } from './flatten-commands.ts'

/** The manual page in roff's man macros. */
export function renderManPage(specs: readonly CommandSpec[], version: string, language: Language): string {
  const localize = (text: LocalizedText) => escapeRoff(translate(text, language))
  const describe = (name: string, text: string) => `.TP\n\\fB${escapeRoff(name)}\\fR\n${text}`
  const option = (row: Option) =>
    describe((row.short === undefined ? '' : `-${row.short}, `) + formatOption(row), localize(row.summary))
  const parts = [
    `.TH SVC 1 "" "svc ${escapeRoff(version)}" "svc"`,
    // Chinese has no spaces to widen, and groff warns of each line that it cannot adjust.
    ...(language === 'zh' ? ['.ad l'] : []),
    `.SH ${localize({ en: 'NAME', zh: '名称' })}`,
    `svc \\- ${localize({ en: 'the model service and the workbench from a terminal', zh: '在终端中使用模型服务与工作台' })}`,
    `.SH ${localize({ en: 'SYNOPSIS', zh: '概要' })}`,
    `.B svc\n.I command\n[options]`,
    `.SH ${localize({ en: 'EXAMPLES', zh: '示例' })}`,
    ...programExamples.map((example) => describe(example.line, localize(example.text))),
    `.SH ${localize({ en: 'COMMANDS', zh: '命令' })}`,
    ...flattenCommands(specs).map((place) => renderEntry(place, localize, option)),
    `.SH ${localize({ en: 'OPTIONS OF EVERY COMMAND', zh: '通用选项' })}`,
    ...[...globalOptions, ...standardOptions].map(option),
    `.SH ${localize({ en: 'EXIT STATUS', zh: '退出码' })}`,
    ...Object.values(exitCodes).map((exit) => describe(String(exit.code), escapeRoff(exit[language]))),
    `.SH ${localize({ en: 'ENVIRONMENT', zh: '环境变量' })}`,
    ...environmentVariables.map((row) => describe(row.name, localize(row.summary))),
    `.SH ${localize({ en: 'FILES', zh: '文件' })}`,
    describe(
      '$XDG_CONFIG_HOME/svc/credentials.json',
      localize({ en: 'sessions, one for each site, mode 0600', zh: '登录状态，每个站点一个，权限 0600' }),
    ),
    describe('$XDG_CONFIG_HOME/svc/config.json', localize({ en: 'the settings of svc config', zh: 'svc config 的设置' })),
  ]
  return `${parts.join('\n')}\n`
}

/** The table of commands for the README, one line each. */
export function renderMarkdownTable(specs: readonly CommandSpec[], language: Language): string {
  const cell = (text: string) => text.replaceAll('|', '\\|')
  const lines = flattenCommands(specs).flatMap(({ path, spec }) =>
    isCommandGroup(spec)
      ? []
      : [
          `| \`svc ${cell(formatUsageLine(spec, path))}\` | ${cell(translate(spec.summary, language))} | \`${cell(spec.examples[0].line)}\` |`,
        ],
  )
  const heading = translate({ en: '| Command | What it does | Example |', zh: '| 命令 | 作用 | 示例 |' }, language)
  return [heading, '|---|---|---|', ...lines, ''].join('\n')
}

function renderEntry(
  { path, spec }: CommandPath,
  localize: (text: LocalizedText) => string,
  option: (row: Option) => string,
): string {
  const parts = isCommandGroup(spec) ? renderGroup(spec, path, localize) : renderCommand(spec, path, localize, option)
  const description = spec.description === undefined ? [] : ['.PP', localize(spec.description)]
  return [...parts, ...description].join('\n')
}

function renderGroup(group: CommandGroup, path: readonly string[], localize: (text: LocalizedText) => string): readonly string[] {
  return [
    `.SS svc ${escapeRoff(path.join(' '))}`,
    `${localize(group.summary)}: ${filterVisible(group.commands)
      .map((inner) => escapeRoff(inner.name))
      .join(', ')}`,
  ]
}

function renderCommand(
  command: Command,
  path: readonly string[],
  localize: (text: LocalizedText) => string,
  option: (row: Option) => string,
): readonly string[] {
  const argument = (argument: Argument) => `.TP\n\\fI${escapeRoff(formatArgument(argument))}\\fR\n${localize(argument.summary)}`
  return [
    `.SS svc ${escapeRoff(formatUsageLine(command, path))}`,
    localize(command.summary),
    ...command.examples.map((example) => `.TP\n\\fB${escapeRoff(example.line)}\\fR\n${localize(example.text)}`),
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
