/**
 * Parses the command line, loads the one command it names, runs it, prints its failure, and ends the process with
 * an exit code of the table. Nothing else ends the process.
 */
import type { Context } from './context.ts'
import type { Environment } from './user-config/credentials.ts'
import { exitCodes } from './exit-code.ts'
import { CommandFailure, createInterruptedFailure, createUsageFailure } from './failure.ts'
import { detectLanguage } from '../command-table/localized-text.ts'
import type { Language } from '../command-table/localized-text.ts'
import { createOutputSink } from './terminal/output-sink.ts'
import { printVersion } from './print-version.ts'
import { showFailure } from './show-failure.ts'
import type { ProcessIo } from './process-io.ts'
import { fromProcess } from './process-io.ts'

export async function runAndExit(words: readonly string[]): Promise<void> {
  await exit(await run(words, fromProcess()))
}

/** Returns the exit code after everything has been written to the outputs. */
export async function run(words: readonly string[], io: ProcessIo): Promise<number> {
  const { environment, stdout } = io
  const json = words.includes('--json')
  let language = detectLanguage(environment)
  let context: Context | undefined
  try {
    const [{ parseCommandLine }, { svcProgram }] = await Promise.all([
      import('../command-table/parse-command-line.ts'),
      import('./program.ts'),
    ])
    language = await resolveLanguage(environment)
    const request = parseCommandLine(words, svcProgram, language, stdout.columns)
    if (request.kind === 'version') {
      printVersion(stdout, json)
      return exitCodes.ok.code
    }
    if (request.kind === 'help') {
      stdout.write(request.text)
      return exitCodes.ok.code
    }
    const [{ createContext }, { run }] = await Promise.all([import('./create-context.ts'), request.command.load()])
    context = createContext(request.globals, io, language)
    const code = await run(context, request.args, request.options, svcProgram)
    await runAfterwards(context)
    return code ?? exitCodes.ok.code
  } catch (error) {
    const failure = context?.signal.aborted === true ? createInterruptedFailure(error) : await toFailure(error)
    const stderr = createOutputSink(io.stderr, environment, words.includes('--no-color'), () => {})
    if (words.includes('--verbose') && !(error instanceof CommandFailure) && error instanceof Error)
      stderr.write(`${error.stack}\n`)
    const code = showFailure(failure, context ?? { stdout, stderr, json }, language)
    if (context !== undefined) await runAfterwards(context)
    return code
  }
}

async function runAfterwards({ afterwards, signal }: Context): Promise<void> {
  for (const work of afterwards.splice(0)) if (!signal.aborted) await work()
}

/** The language of the environment, else of `svc config`. Ignores an unreadable settings file, because the command reports it. */
async function resolveLanguage(environment: Environment): Promise<Language> {
  const { Settings } = await import('./user-config/settings.ts')
  try {
    return detectLanguage(environment, new Settings(environment).get('language').value)
  } catch {
    return detectLanguage(environment)
  }
}

/** Open connections and a terminal's input would keep the process alive, so it is ended once everything is written. */
async function exit(code: number): Promise<void> {
  await Promise.all([process.stdout, process.stderr].map((stream) => new Promise((resolve) => stream.write('', resolve))))
  process.exit(code)
}

async function toFailure(error: unknown): Promise<CommandFailure> {
  if (error instanceof CommandFailure) return error
  const { CommandLineError } = await import('../command-table/command-line-error.ts')
  if (error instanceof CommandLineError) return createUsageFailure(error.text, error.hints)
  const message = error instanceof Error ? error.message : String(error)
  return new CommandFailure(
    'internal_error',
    { en: `Something unexpected went wrong in svc itself: ${message}`, zh: `svc 自身出现意外错误：${message}` },
    { cause: error },
  )
}
