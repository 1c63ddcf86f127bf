/** `svc-gateway`: the operator's commands. Each is imported when it is used. */
import type { Command, HelpConfiguration } from 'commander'
import type { CollectOutput } from './command-groups/command-group.ts'

/** Exit code and output of a command. */
export interface CommandOutcome {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

/** Takes a text that is too long for memory, in pieces. */
type WritePieces = (pieces: AsyncIterable<string>) => Promise<void>

const emptyOutcome: CommandOutcome = { code: 0, stdout: '', stderr: '' }

export async function main(argv: readonly string[]): Promise<void> {
  const words = argv.slice(2)
  // A plain start, by far the most frequent, needs no argument parser.
  const plain = words.length === 0 || (words.length === 1 && words[0] === 'start')
  // `svc-gateway turns | head -1`: a closed pipe is no failure, and a server must not end because its output cannot be written.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', plain ? () => undefined : ignoreClosedPipe)
  const { code, stdout, stderr } = await (plain ? start().then(() => emptyOutcome, toFailedOutcome) : run(words, writePieces))
  process.stdout.write(stdout)
  process.stderr.write(stderr)
  if (code !== 0) process.exitCode = code
}

function ignoreClosedPipe(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EPIPE') throw error
}

async function writePieces(pieces: AsyncIterable<string>): Promise<void> {
  const { pipeline } = await import('node:stream/promises')
  try {
    await pipeline(pieces, process.stdout, { end: false })
  } catch (error) {
    ignoreClosedPipe(error as NodeJS.ErrnoException)
  }
}

/** Runs a command and returns its output, except for pieces that `write` takes; only a server that it starts keeps running and writes by itself. */
export async function run(words: readonly string[], write?: WritePieces): Promise<CommandOutcome> {
  const [word, ...options] = words
  if (word === '--version' || word === '-V') {
    const { printVersion } = await import('./commands/version.ts')
    return { ...emptyOutcome, stdout: printVersion({ json: options.includes('--json') }).text }
  }
  const { Command, CommanderError } = await import('commander')
  const { addServerCommands } = await import('./command-groups/server-commands.ts')
  const { addMemberCommands } = await import('./command-groups/member-commands.ts')
  const { addPlanCommands } = await import('./command-groups/plan-commands.ts')
  const { addRecordCommands } = await import('./command-groups/record-commands.ts')
  const { addDataCommands } = await import('./command-groups/data-commands.ts')
  let [stdout, stderr] = ['', '']
  let ok = true
  const collectOutput: CollectOutput =
    (command) =>
    async (...words) => {
      const result = await command(...words)
      ok = result.ok
      if ('text' in result) stdout += result.text
      else if (write !== undefined) await write(result.pieces)
      else for await (const piece of result.pieces) stdout += piece
    }
  const program = new Command('svc-gateway')
    .description('Runs and looks after a membership and model API gateway.')
    .showHelpAfterError('(--help lists the commands and options)')
    .addHelpText('before', programExamples)
    .addHelpText('after', '\nMore about one command: svc-gateway <command> --help')
    .option('-V, --version', 'print the version and the commit')
  program
    .configureHelp(helpStyle)
    .exitOverride()
    .configureOutput({
      writeOut: (text) => void (stdout += text),
      writeErr: (text) => void (stderr += text),
    })

  // `backup` has options and further commands: an option behind `backup list` belongs to that one.
  program.enablePositionalOptions()
  program.commandsGroup('Server:')
  addServerCommands(program, collectOutput)
  program.commandsGroup('Members:')
  addMemberCommands(program, collectOutput)
  program.commandsGroup('Sales:')
  addPlanCommands(program, collectOutput)
  program.commandsGroup('Records:')
  addRecordCommands(program, collectOutput)
  program.commandsGroup('Data:')
  addDataCommands(program, collectOutput)

  try {
    await parseCommandLine(program, words)
    return { code: ok ? 0 : 1, stdout, stderr }
  } catch (error) {
    // commander has printed its usage errors already.
    if (error instanceof CommanderError) return { code: error.exitCode === 0 ? 0 : 2, stdout, stderr }
    return toFailedOutcome(error)
  }
}

const programExamples = `Examples:
  svc-gateway doctor            check this machine
  svc-gateway turns --since 1h  list recent turns
  svc-gateway account create --email ann@example.com
      create an account
`

/** As `svc` shows its help: sentences, names without their arguments in lists, and text that wraps also on narrow terminals. */
const helpStyle: HelpConfiguration = {
  minWidthToWrap: 20,
  commandDescription: (command) =>
    `${command
      .description()
      .replace(/^./, (letter) => letter.toUpperCase())
      .replace(/\.$/, '')}.`,
  subcommandTerm: (command) => command.name(),
  visibleCommands: (command) => [...command.commands],
}

async function start(): Promise<void> {
  return (await import('./start.ts')).runServer()
}

/** With a default command, commander takes an unknown word for an argument of that command and reports too many arguments. */
async function parseCommandLine(program: Command, words: readonly string[]): Promise<void> {
  const [word] = words
  const known =
    word === undefined || word.startsWith('-') || word === 'help' || program.commands.some((one) => one.name() === word)
  if (!known) program.error(`error: unknown command '${word}'`, { exitCode: 2, code: 'commander.unknownCommand' })
  await program.parseAsync(words, { from: 'user' })
}

async function toFailedOutcome(error: unknown): Promise<CommandOutcome> {
  const { describeFailure } = await import('./describe-failure.ts')
  const { escapeUnprintable } = await import('./output.ts')
  return { code: 1, stdout: '', stderr: `${escapeUnprintable(describeFailure(error))}\n` }
}

if (import.meta.main) await main(process.argv)
