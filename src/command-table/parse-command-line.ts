/** Configures the parser library from the command table and rewrites its error messages. */
import {
  Argument as CommanderArgument,
  Command as Parser,
  CommanderError,
  InvalidArgumentError,
  Option as CommanderOption,
} from 'commander'
import type { Argument, Command, CommandGroup, CommandSpec, Option, Program } from './command.ts'
import { isCommandGroup } from './command.ts'
import { renderCommandHelp, renderGroupHelp, renderProgramHelp } from './help.ts'
import type { HelpLayout } from './help.ts'
import { CommandLineError } from './command-line-error.ts'
import type { Language, LocalizedText } from './localized-text.ts'
import type { ParsedValue } from './parsed-values.ts'
import { ParsedValues } from './parsed-values.ts'

/** The result of parsing a command line. */
type ParsedCommandLine<Handler> =
  | {
      readonly kind: 'run'
      readonly command: Command<Handler>
      readonly args: ParsedValues
      readonly options: ParsedValues
      readonly globals: ParsedValues
    }
  | { readonly kind: 'help'; readonly text: string }
  | { readonly kind: 'version' }

/**
 * Parses a command line (without the program's own name). The error of a wrong one names the argument at fault and, if one is similar,
 * the name that was probably meant.
 *
 * @throws CommandLineError
 */
export function parseCommandLine<Handler>(
  words: readonly string[],
  program: Program<Handler>,
  language: Language,
  columns = 80,
): ParsedCommandLine<Handler> {
  // Some users type `svc help chat` for `svc chat --help`.
  if (words[0] === 'help') return parseCommandLine([...words.slice(1), '--help'], program, language, columns)
  const layout = { language, columns }
  try {
    return parseWith(words, program, layout, true)
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error
    // `svc boost chekin`: the parser takes it for the default command with one argument too many. Without default commands it
    // reports a misspelt command, as the user expects.
    if (error.code !== 'commander.excessArguments') throw toCommandLineError(error)
  }
  try {
    return parseWith(words, program, layout, false)
  } catch (error) {
    throw error instanceof CommanderError ? toCommandLineError(error) : error
  }
}

function parseWith<Handler>(
  words: readonly string[],
  program: Program<Handler>,
  layout: HelpLayout,
  defaults: boolean,
): ParsedCommandLine<Handler> {
  const match: { command?: Command<Handler>; parser?: Parser } = {}
  const renderHelp = () => renderProgramHelp(program, layout)
  const root = silenceParser(new Parser(program.name), renderHelp)
  root.version('', '-V, --version').helpOption('-h, --help').helpCommand(false)
  for (const option of program.globalOptions) root.addOption(toOption(option))
  const table: ParserContext<Handler> = {
    program,
    layout,
    defaults,
    onMatched: (command, parser) => Object.assign(match, { command, parser }),
  }
  for (const row of program.commands) root.addCommand(toParser(row, [], table))
  try {
    root.parse([...words], { from: 'user' })
  } catch (error) {
    if (error instanceof CommanderError && error.code === 'commander.version') return { kind: 'version' }
    if (error instanceof HelpRequested) return { kind: 'help', text: error.text }
    throw error
  }
  if (match.command === undefined || match.parser === undefined) return { kind: 'help', text: renderHelp() }
  return {
    kind: 'run',
    command: match.command,
    args: readArguments(match.command.arguments ?? [], match.parser),
    options: readOptions(match.command.options ?? [], match.parser),
    globals: readOptions(program.globalOptions, root),
  }
}

interface ParserContext<Handler> {
  readonly program: Program<Handler>
  readonly layout: HelpLayout
  /** Groups run their default command. */
  readonly defaults: boolean
  readonly onMatched: (command: Command<Handler>, parser: Parser) => void
}

function toParser<Handler>(spec: CommandSpec<Handler>, above: readonly string[], context: ParserContext<Handler>): Parser {
  const path = [...above, spec.name]
  const parser = isCommandGroup(spec) ? toGroup(spec, path, context) : toCommand(spec, path, context)
  return parser.aliases([...(spec.aliases ?? [])]).helpOption('-h, --help')
}

function toGroup<Handler>(group: CommandGroup<Handler>, path: readonly string[], context: ParserContext<Handler>): Parser {
  const { program, layout, defaults } = context
  const parser = silenceParser(new Parser(group.name), () => renderGroupHelp(program, group, path, layout)).helpCommand(false)
  for (const inner of group.commands)
    parser.addCommand(toParser(inner, path, context), { isDefault: defaults && inner.name === group.defaultCommand })
  return parser
}

function toCommand<Handler>(command: Command<Handler>, path: readonly string[], context: ParserContext<Handler>): Parser {
  const { program, layout, onMatched } = context
  const parser = silenceParser(new Parser(command.name), () => renderCommandHelp(program, command, path, layout))
  for (const argument of command.arguments ?? []) parser.addArgument(toArgument(argument))
  for (const option of command.options ?? []) parser.addOption(toOption(option))
  parser.action(() => onMatched(command, parser))
  return parser
}

/** Carries the help's text out of the parser, which would otherwise print it and end the process. */
class HelpRequested extends Error {
  readonly text: string
  constructor(text: string) {
    super('help')
    this.text = text
  }
}

/** Replaces the parser's help, and keeps it from printing and exiting: a program has one place for each. */
function silenceParser(parser: Parser, help: () => string): Parser {
  parser.helpInformation = help
  return parser
    .exitOverride((error) => {
      if (error.code === 'commander.helpDisplayed' || (error.code === 'commander.help' && parser.parent === null))
        throw new HelpRequested(help())
      throw error
    })
    .configureOutput({ writeOut: () => {}, writeErr: () => {}, outputError: () => {} })
    .showSuggestionAfterError(true)
}

function toArgument(argument: Argument): CommanderArgument {
  const name = argument.variadic === true ? `${argument.name}...` : argument.name
  const commanderArgument = new CommanderArgument(argument.optional === true ? `[${name}]` : `<${name}>`)
  return argument.choices === undefined ? commanderArgument : commanderArgument.choices(argument.choices)
}

function toOption(option: Option): CommanderOption {
  const short = option.short === undefined ? '' : `-${option.short}, `
  const value = option.kind === 'flag' ? '' : ` <${option.placeholder ?? option.name}>`
  const commanderOption = new CommanderOption(`${short}--${option.name}${value}`)
  if (option.choices !== undefined) commanderOption.choices(option.choices)
  if (option.default !== undefined) commanderOption.default(option.default)
  if (option.required === true) commanderOption.makeOptionMandatory()
  if (option.kind === 'number') commanderOption.argParser(toNumber)
  if (option.kind === 'list')
    commanderOption.argParser((word: string, before: readonly string[] | undefined) => [...(before ?? []), word])
  return commanderOption
}

function toNumber(word: string): number {
  const number = Number(word)
  if (word.trim() === '' || !Number.isFinite(number) || number < 0)
    throw new InvalidArgumentError('It must be a number, 0 or more.')
  return number
}

function readArguments(definitions: readonly Argument[], parser: Parser): ParsedValues {
  const values = parser.processedArgs as readonly ParsedValue[]
  return new ParsedValues(new Map(definitions.map((row, index) => [row.name, values[index]])))
}

function readOptions(definitions: readonly Option[], parser: Parser): ParsedValues {
  const parsedValues = parser.opts<Record<string, ParsedValue>>()
  return new ParsedValues(new Map(definitions.map((row) => [row.name, readOption(row, parsedValues)])))
}

function readOption(option: Option, given: Readonly<Record<string, ParsedValue>>): ParsedValue {
  // The parser stores `--no-stream` as `stream: false`; commands read the option's own name.
  if (option.name.startsWith('no-')) return given[toCamelCase(option.name.slice(3))] === false
  return given[toCamelCase(option.name)]
}

function toCamelCase(name: string): string {
  return name.replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase())
}

/** Rewrites the parser's English message as one in both languages. */
function toCommandLineError(error: CommanderError): CommandLineError {
  const [sentence = '', ...rest] = error.message.replace(/^error: /, '').split('\n')
  const guesses = /Did you mean (?:one of )?(.+)\?/.exec(rest.join(' '))?.[1]
  const [first = '', second = ''] = [...sentence.matchAll(/'([^']*)'/g)].map((match) => match[1])
  const hints: LocalizedText[] = guesses === undefined ? [] : [{ en: `did you mean: ${guesses}`, zh: `你是否想输入：${guesses}` }]
  const texts: Record<string, LocalizedText> = {
    'commander.unknownCommand': { en: `There is no command '${first}'.`, zh: `没有名为“${first}”的命令。` },
    'commander.unknownOption': { en: `There is no option '${first}' here.`, zh: `此处没有选项“${first}”。` },
    'commander.missingArgument': { en: `The argument <${first}> is missing.`, zh: `缺少参数 <${first}>。` },
    'commander.missingMandatoryOptionValue': { en: `The option '${first}' is missing.`, zh: `缺少选项“${first}”。` },
    'commander.optionMissingArgument': { en: `The option '${first}' needs a value.`, zh: `选项“${first}”需要一个值。` },
    'commander.excessArguments': { en: `There are too many arguments: ${sentence}`, zh: `多余的参数：${sentence}` },
    'commander.invalidArgument': {
      en: sentence.replace(/^./, (letter) => letter.toUpperCase()),
      zh: `“${second}”不适用于“${first}”：${sentence.split('. ').slice(1).join('. ')}`,
    },
    'commander.help': { en: 'A command is missing here.', zh: '此处缺少命令。' },
  }
  return new CommandLineError(texts[error.code] ?? sentence, [...hints, { en: 'help: add --help', zh: '帮助：加上 --help' }])
}
