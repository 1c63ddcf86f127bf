/** `svc-gateway`: the operator's commands. Each is imported when it is used. */

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
  if (word === '--version' || word === '-V') return printVersion(options.includes('--json'))
  const [{ parseCommandLine }, { operatorProgram }, { getLanguage }] = await Promise.all([
    import('../command-table/parse-command-line.ts'),
    import('./program.ts'),
    import('./language.ts'),
  ])
  try {
    const { isTTY, columns } = process.stdout
    const request = parseCommandLine(words, operatorProgram, getLanguage(), isTTY ? columns : 80)
    if (request.kind === 'version') return await printVersion(words.includes('--json'))
    if (request.kind === 'help') return { ...emptyOutcome, stdout: request.text }
    const handler = await request.command.load()
    const result = await handler(request.args, request.options, request.globals.getFlag('json'))
    if (result === undefined) return emptyOutcome
    const code = result.ok ? 0 : 1
    if ('text' in result) return { ...emptyOutcome, code, stdout: result.text }
    let stdout = ''
    if (write !== undefined) await write(result.pieces)
    else for await (const piece of result.pieces) stdout += piece
    return { ...emptyOutcome, code, stdout }
  } catch (error) {
    return toFailedOutcome(error)
  }
}

async function printVersion(json: boolean): Promise<CommandOutcome> {
  const { printVersion } = await import('./commands/version.ts')
  return { ...emptyOutcome, stdout: printVersion({ json }).text }
}

async function start(): Promise<void> {
  return (await import('./start.ts')).runServer()
}

/** A wrong command line ends with 2, as in `svc`. */
async function toFailedOutcome(error: unknown): Promise<CommandOutcome> {
  const { CommandLineError, renderCommandLineError } = await import('../command-table/command-line-error.ts')
  if (error instanceof CommandLineError) {
    const { getLanguage } = await import('./language.ts')
    return { ...emptyOutcome, code: 2, stderr: renderCommandLineError(error, getLanguage()) }
  }
  const { describeFailure } = await import('./describe-failure.ts')
  const { escapeUnprintable } = await import('./output.ts')
  return { code: 1, stdout: '', stderr: `${escapeUnprintable(describeFailure(error))}\n` }
}

if (import.meta.main) await main(process.argv)
