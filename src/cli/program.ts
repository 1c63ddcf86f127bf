/** The parser library, filled with the table: what it finds wrong with a command line is said in our own words. */
import {
  Argument as CommanderArgument,
  Command as Parser,
  CommanderError,
  InvalidArgumentError,
  Option as CommanderOption,
} from 'commander'
import type { Argument, Command, CommandGroup, Option, Row } from './command.ts'
import { globalOptions, isGroup } from './command.ts'
import type { CommandFailure } from './failure.ts'
import { usageFailure } from './failure.ts'
import { commandHelp, groupHelp, programHelp } from './help.ts'
import type { Language, Text } from './text.ts'
import type { Value } from './values.ts'
import { Values } from './values.ts'

/** What a command line asks for. */
export type Request =
  | { readonly kind: 'run'; readonly command: Command; readonly args: Values; readonly options: Values; readonly globals: Values }
  | { readonly kind: 'help'; readonly text: string }
  | { readonly kind: 'version' }

/**
 * Reads a command line (without the program's own name) against the table. A wrong one is a `CommandFailure` of exit 2 that names the
 * word at fault and, where one is near, the word that was probably meant.
 */
export function parse(words: readonly string[], rows: readonly Row[], language: Language): Request {
  // `svc help chat` is what some hands type for `svc chat --help`.
  if (words[0] === 'help') return parse([...words.slice(1), '--help'], rows, language)
  try {
    return parseWith(words, rows, language, true)
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error
    // `svc boost chekin`: to the parser that is the default command with a word too many. Without default commands it is what
    // it is to a person, a misspelt command.
    if (error.code !== 'commander.excessArguments') throw toFailure(error)
  }
  try {
    return parseWith(words, rows, language, false)
  } catch (error) {
    throw error instanceof CommanderError ? toFailure(error) : error
  }
}

function parseWith(words: readonly string[], rows: readonly Row[], language: Language, defaults: boolean): Request {
  const found: { command?: Command; parser?: Parser } = {}
  const root = quiet(new Parser('svc'), () => programHelp(rows, language))
  root.version('', '-V, --version').helpOption('-h, --help').helpCommand(false)
  for (const option of globalOptions) root.addOption(toOption(option))
  const seen: Found = (command, parser) => Object.assign(found, { command, parser })
  for (const row of rows) root.addCommand(toParser(row, [], language, defaults, seen))
  try {
    root.parse([...words], { from: 'user' })
  } catch (error) {
    if (error instanceof CommanderError && error.code === 'commander.version') return { kind: 'version' }
    if (error instanceof HelpAsked) return { kind: 'help', text: error.text }
    throw error
  }
  if (found.command === undefined || found.parser === undefined) return { kind: 'help', text: programHelp(rows, language) }
  return {
    kind: 'run',
    command: found.command,
    args: readArguments(found.command.arguments ?? [], found.parser),
    options: readOptions(found.command.options ?? [], found.parser),
    globals: readOptions(globalOptions, root),
  }
}

type Found = (command: Command, parser: Parser) => void

function toParser(row: Row, above: readonly string[], language: Language, defaults: boolean, found: Found): Parser {
  const path = [...above, row.name]
  const parser = isGroup(row) ? toGroup(row, path, language, defaults, found) : toCommand(row, path, language, found)
  return parser.aliases([...(row.aliases ?? [])]).helpOption('-h, --help')
}

function toGroup(row: CommandGroup, path: readonly string[], language: Language, defaults: boolean, found: Found): Parser {
  const parser = quiet(new Parser(row.name), () => groupHelp(row, path, language)).helpCommand(false)
  for (const inner of row.commands) {
    parser.addCommand(toParser(inner, path, language, defaults, found), {
      isDefault: defaults && inner.name === row.defaultCommand,
    })
  }
  return parser
}

function toCommand(row: Command, path: readonly string[], language: Language, found: Found): Parser {
  const parser = quiet(new Parser(row.name), () => commandHelp(row, path, language))
  for (const argument of row.arguments ?? []) parser.addArgument(toArgument(argument))
  for (const option of row.options ?? []) parser.addOption(toOption(option))
  parser.action(() => found(row, parser))
  return parser
}

/** Carries the help's text out of the parser, which would print it and end the process by itself. */
class HelpAsked extends Error {
  readonly text: string
  constructor(text: string) {
    super('help')
    this.text = text
  }
}

/** Our own help, and no printing and no exiting from inside the parser: `svc` has one place for each. */
function quiet(parser: Parser, help: () => string): Parser {
  parser.helpInformation = help
  return parser
    .exitOverride((error) => {
      if (error.code === 'commander.helpDisplayed' || (error.code === 'commander.help' && parser.parent === null))
        throw new HelpAsked(help())
      throw error
    })
    .configureOutput({ writeOut: () => {}, writeErr: () => {}, outputError: () => {} })
    .showSuggestionAfterError(true)
}

function toArgument(argument: Argument): CommanderArgument {
  const name = argument.variadic === true ? `${argument.name}...` : argument.name
  const made = new CommanderArgument(argument.optional === true ? `[${name}]` : `<${name}>`)
  return argument.choices === undefined ? made : made.choices(argument.choices)
}

function toOption(option: Option): CommanderOption {
  const short = option.short === undefined ? '' : `-${option.short}, `
  const value = option.kind === 'flag' ? '' : ` <${option.placeholder ?? option.name}>`
  const made = new CommanderOption(`${short}--${option.name}${value}`)
  if (option.choices !== undefined) made.choices(option.choices)
  if (option.required === true) made.makeOptionMandatory()
  if (option.kind === 'number') made.argParser(toNumber)
  if (option.kind === 'list') made.argParser((word: string, before: readonly string[] | undefined) => [...(before ?? []), word])
  return made
}

function toNumber(word: string): number {
  const number = Number(word)
  if (word.trim() === '' || !Number.isFinite(number) || number < 0)
    throw new InvalidArgumentError('It must be a number, 0 or more.')
  return number
}

function readArguments(rows: readonly Argument[], parser: Parser): Values {
  const values = parser.processedArgs as readonly Value[]
  return new Values(new Map(rows.map((row, index) => [row.name, values[index]])))
}

function readOptions(rows: readonly Option[], parser: Parser): Values {
  const given = parser.opts<Record<string, Value>>()
  return new Values(new Map(rows.map((row) => [row.name, readOption(row, given)])))
}

function readOption(row: Option, given: Readonly<Record<string, Value>>): Value {
  // The parser keeps `--no-stream` as `stream: false`; the row's own name is what the command asks for.
  if (row.name.startsWith('no-')) return given[toCamel(row.name.slice(3))] === false
  return given[toCamel(row.name)]
}

function toCamel(name: string): string {
  return name.replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase())
}

/** The parser's English sentence in the words of `svc`, in both languages. */
function toFailure(error: CommanderError): CommandFailure {
  const [sentence = '', ...rest] = error.message.replace(/^error: /, '').split('\n')
  const guesses = /Did you mean (?:one of )?(.+)\?/.exec(rest.join(' '))?.[1]
  const [first = '', second = ''] = [...sentence.matchAll(/'([^']*)'/g)].map((match) => match[1])
  const hints: Text[] = guesses === undefined ? [] : [{ en: `did you mean: ${guesses}`, zh: `您是否想输入:${guesses}` }]
  const texts: Record<string, Text> = {
    'commander.unknownCommand': { en: `There is no command '${first}'.`, zh: `没有名为“${first}”的命令。` },
    'commander.unknownOption': { en: `There is no option '${first}' here.`, zh: `此处没有选项“${first}”。` },
    'commander.missingArgument': { en: `The argument <${first}> is missing.`, zh: `缺少参数 <${first}>。` },
    'commander.missingMandatoryOptionValue': { en: `The option '${first}' is missing.`, zh: `缺少选项“${first}”。` },
    'commander.optionMissingArgument': { en: `The option '${first}' needs a value.`, zh: `选项“${first}”需要一个值。` },
    'commander.excessArguments': { en: `There are too many words: ${sentence}`, zh: `多余的参数:${sentence}` },
    'commander.invalidArgument': {
      en: sentence.replace(/^./, (letter) => letter.toUpperCase()),
      zh: `“${second}”不适用于“${first}”:${sentence.split('. ').slice(1).join('. ')}`,
    },
    'commander.help': { en: 'A command is missing here.', zh: '此处缺少命令。' },
  }
  return usageFailure(texts[error.code] ?? sentence, [...hints, { en: 'help: add --help', zh: '帮助:加上 --help' }])
}
