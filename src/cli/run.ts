/**
 * Reads the command line against the table, loads the one command it names, runs it, shows its failure, and ends the process with
 * an exit code of the table. Nothing else ends the process.
 */
import type { Context } from './context.ts'
import type { Environment } from './credentials.ts'
import { exitCodes } from './exit-code.ts'
import { CommandFailure, interrupted } from './failure.ts'
import { readLanguage } from './language.ts'
import { toSink } from './output.ts'
import { printVersion } from './print-version.ts'
import { showFailure } from './show-failure.ts'
import type { Surroundings } from './surroundings.ts'
import { ofThisProcess } from './surroundings.ts'
import type { Language } from './text.ts'

export async function runAndLeave(words: readonly string[]): Promise<void> {
  await leave(await run(words, ofThisProcess()))
}

/** Answers the exit code; what is to be seen has gone to the outputs. */
export async function run(words: readonly string[], surroundings: Surroundings): Promise<number> {
  const { environment, stdout } = surroundings
  const json = words.includes('--json')
  let language = readLanguage(environment)
  let context: Context | undefined
  try {
    const [{ parse }, { commands }] = await Promise.all([import('./program.ts'), import('./commands.ts')])
    language = await chosenLanguage(environment)
    const request = parse(words, commands, language)
    if (request.kind === 'version') {
      printVersion(stdout, json)
      return exitCodes.ok.code
    }
    if (request.kind === 'help') {
      stdout.write(request.text)
      return exitCodes.ok.code
    }
    const [{ createContext }, { run }] = await Promise.all([import('./create-context.ts'), request.command.load()])
    context = createContext(request.globals, surroundings, language)
    return (await run(context, request.args, request.options, commands)) ?? exitCodes.ok.code
  } catch (error) {
    const failure = context?.signal.aborted === true ? interrupted(error) : toFailure(error)
    const stderr = toSink(surroundings.stderr, environment, words.includes('--no-color'), () => {})
    if (words.includes('--verbose') && !(error instanceof CommandFailure) && error instanceof Error)
      stderr.write(`${error.stack}\n`)
    return showFailure(failure, context ?? { stdout, stderr, json }, language)
  }
}

/** The environment's choice, else the one of `svc config`; a settings file that cannot be read is the command's to report. */
async function chosenLanguage(environment: Environment): Promise<Language> {
  const { Settings } = await import('./settings.ts')
  try {
    return readLanguage(environment, new Settings(environment).get('language').value)
  } catch {
    return readLanguage(environment)
  }
}

/** Open connections and a terminal's input would keep the process alive: it ends here, once everything is written. */
async function leave(code: number): Promise<void> {
  await Promise.all([process.stdout, process.stderr].map((stream) => new Promise((resolve) => stream.write('', resolve))))
  process.exit(code)
}

function toFailure(error: unknown): CommandFailure {
  if (error instanceof CommandFailure) return error
  const message = error instanceof Error ? error.message : String(error)
  return new CommandFailure(
    'internal_error',
    { en: `Something unexpected went wrong in svc itself: ${message}`, zh: `svc 自身出现意外错误:${message}` },
    { cause: error },
  )
}
