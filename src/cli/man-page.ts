/** The reference made from the table: the manual page svc(1), and the README's list of commands. */
import type { Argument, Command, CommandGroup, Option, Row } from './command.ts'
import { globalOptions, isGroup } from './command.ts'
import { environmentTable } from './environment-table.ts'
import { exitCodes } from './exit-code.ts'
import { argumentWord, optionWord, programExamples, standardOptions, usageLine, visible } from './help.ts'
import type { Language, Text } from './text.ts'
import { inLanguage } from './text.ts'
import type { Place } from './walk.ts'
import { walk } from './walk.ts'

/** In roff's man macros. */
export function manPage(rows: readonly Row[], version: string, language: Language): string {
  const say = (text: Text) => escape(inLanguage(text, language))
  const describe = (name: string, text: string) => `.TP\n\\fB${escape(name)}\\fR\n${text}`
  const option = (row: Option) => describe((row.short === undefined ? '' : `-${row.short}, `) + optionWord(row), say(row.summary))
  const parts = [
    `.TH SVC 1 "" "svc ${escape(version)}" "svc"`,
    `.SH ${say({ en: 'NAME', zh: '名称' })}`,
    `svc \\- ${say({ en: 'the model service and the workbench from a terminal', zh: '在终端中使用模型服务与工作台' })}`,
    `.SH ${say({ en: 'SYNOPSIS', zh: '概要' })}`,
    `.B svc\n.I command\n[options]`,
    `.SH ${say({ en: 'EXAMPLES', zh: '示例' })}`,
    ...programExamples.map((example) => describe(example.line, say(example.text))),
    `.SH ${say({ en: 'COMMANDS', zh: '命令' })}`,
    ...walk(rows).map((place) => command(place, say, option)),
    `.SH ${say({ en: 'OPTIONS OF EVERY COMMAND', zh: '通用选项' })}`,
    ...[...globalOptions, ...standardOptions].map(option),
    `.SH ${say({ en: 'EXIT STATUS', zh: '退出码' })}`,
    ...Object.values(exitCodes).map((exit) => describe(String(exit.code), escape(exit[language]))),
    `.SH ${say({ en: 'ENVIRONMENT', zh: '环境变量' })}`,
    ...environmentTable.map((row) => describe(row.name, say(row.summary))),
    `.SH ${say({ en: 'FILES', zh: '文件' })}`,
    describe(
      '$XDG_CONFIG_HOME/svc/credentials.json',
      say({ en: 'sessions, one for each site, mode 0600', zh: '登录会话,每个站点一个,权限 0600' }),
    ),
    describe('$XDG_CONFIG_HOME/svc/config.json', say({ en: 'the settings of svc config', zh: 'svc config 的设置' })),
  ]
  return `${parts.join('\n')}\n`
}

/** The table of commands for the README: one line each. */
export function markdownTable(rows: readonly Row[], language: Language): string {
  const cell = (text: string) => text.replaceAll('|', '\\|')
  const lines = walk(rows).flatMap(({ path, row }) =>
    isGroup(row)
      ? []
      : [
          `| \`svc ${cell(usageLine(row, path))}\` | ${cell(inLanguage(row.summary, language))} | \`${cell(row.examples[0].line)}\` |`,
        ],
  )
  const heading = inLanguage({ en: '| Command | What it does | Example |', zh: '| 命令 | 作用 | 示例 |' }, language)
  return [heading, '|---|---|---|', ...lines, ''].join('\n')
}

function command({ path, row }: Place, say: (text: Text) => string, option: (row: Option) => string): string {
  const parts = isGroup(row) ? groupParts(row, path, say) : commandParts(row, path, say, option)
  const description = row.description === undefined ? [] : ['.PP', say(row.description)]
  return [...parts, ...description].join('\n')
}

function groupParts(row: CommandGroup, path: readonly string[], say: (text: Text) => string): readonly string[] {
  return [
    `.SS svc ${escape(path.join(' '))}`,
    `${say(row.summary)}: ${visible(row.commands)
      .map((inner) => escape(inner.name))
      .join(', ')}`,
  ]
}

function commandParts(
  row: Command,
  path: readonly string[],
  say: (text: Text) => string,
  option: (row: Option) => string,
): readonly string[] {
  const argument = (argument: Argument) => `.TP\n\\fI${escape(argumentWord(argument))}\\fR\n${say(argument.summary)}`
  return [
    `.SS svc ${escape(usageLine(row, path))}`,
    say(row.summary),
    ...row.examples.map((example) => `.TP\n\\fB${escape(example.line)}\\fR\n${say(example.text)}`),
    ...(row.arguments ?? []).map(argument),
    ...visible(row.options ?? []).map(option),
  ]
}

/** Text that roff prints as it is: backslashes, hyphens, and dots and quotes that begin a line. */
function escape(text: string): string {
  return text
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replaceAll(/^(?=[.'])/gm, '\\&')
}
