/** Creates the context of a command line from its process: the streams, the clock and the handling of Ctrl-C. */
import { randomBytes } from 'node:crypto'
import type { Context, OutputSink } from './context.ts'
import { formatJsonLine, createOutputSink } from './terminal/output-sink.ts'
import type { ProcessIo } from './process-io.ts'
import type { Language, LocalizedText } from '../command-table/localized-text.ts'
import { translate } from '../command-table/localized-text.ts'
import { fitLines } from './terminal/fit-lines.ts'
import { linkAddresses } from './terminal/hyperlink.ts'
import { wrapCell } from '../system/terminal/wrap-text.ts'
import type { ParsedValues } from '../command-table/parsed-values.ts'

/** Three weeks. A Node timer of more than 31 bits of milliseconds fires at once, and some waits add a little of their own. */
const maxTimeoutMs = 21 * 24 * 3_600_000

export function createContext(globals: ParsedValues, io: ProcessIo, language: Language): Context {
  const { environment, exit } = io
  const noColor = globals.getFlag('no-color')
  const stdout = createOutputSink(io.stdout, environment, noColor, () => exit(0))
  const stderr = createOutputSink(io.stderr, environment, noColor, () => exit(0))
  const localize = (text: LocalizedText) => translate(text, language)
  const json = globals.getFlag('json')
  const quiet = globals.getFlag('quiet')
  const verbose = globals.getFlag('verbose')
  const timeout = globals.getNumber('timeout')
  const interrupt = listenForInterrupts(io)
  return {
    stdout,
    stderr,
    stdin: io.stdin,
    environment,
    language,
    json,
    quiet,
    verbose,
    timeoutMs: timeout === undefined ? undefined : Math.min(Math.round(timeout * 1000), maxTimeoutMs),
    socketPath: globals.getText('socket'),
    noStart: globals.getFlag('no-start') || (environment.variables['SVC_NO_START'] ?? '') !== '',
    signal: interrupt.signal,
    interceptInterrupts: interrupt.interceptInterrupts,
    afterwards: [],
    now: () => Date.now(),
    random: (bytes) => randomBytes(bytes),
    localize,
    printResult(value, text) {
      if (json) return stdout.write(formatJsonLine({ ok: true, result: value }))
      const resultText = text()
      if (resultText !== '') stdout.write(linkAddresses(stdout, resultText.endsWith('\n') ? resultText : `${resultText}\n`))
    },
    printEvent: (value) => stdout.write(formatJsonLine(value)),
    printNote(text) {
      if (!quiet) stderr.write(`${linkAddresses(stderr, fitLines(stderr, localize(text)))}\n`)
    },
    printDetail(text) {
      if (verbose) stderr.write(`${localize(text)}\n`)
    },
    showProgress: (text) => (quiet ? () => {} : showProgress(stderr, localize(text))),
  }
}

const progressDelayMs = 1000
const spinnerFrames = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏']
const spinnerIntervalMs = 100

/** A turning sign and the text, on standard error only and only on a terminal; without styles the text alone, once. */
function showProgress(stderr: OutputSink, text: string): () => void {
  if (!stderr.isTerminal) return () => {}
  let frame = 0
  let isShown = false
  const draw = () => {
    isShown = true
    stderr.write(
      stderr.styled
        ? `\r${spinnerFrames[frame++ % spinnerFrames.length]} ${cutText(text, stderr.columns - 3)}\u001b[K`
        : `${text}\n`,
    )
    if (stderr.styled) timer = setTimeout(draw, spinnerIntervalMs).unref()
  }
  let timer = setTimeout(draw, progressDelayMs)
  return () => {
    clearTimeout(timer)
    if (isShown && stderr.styled) stderr.write('\r\u001b[K')
    isShown = false
  }
}

/** A line that is wider than the terminal could not be removed again. */
function cutText(text: string, columns: number): string {
  const [line = ''] = wrapCell(text, Math.max(1, columns))
  return line
}

/** The first Ctrl-C aborts the command, the second one ends the process. */
function listenForInterrupts({ onInterrupt, exit }: ProcessIo): Pick<Context, 'signal' | 'interceptInterrupts'> {
  const controller = new AbortController()
  const handlers: (() => void)[] = []
  onInterrupt(() => {
    const handler = handlers.at(-1)
    if (handler !== undefined) return handler()
    if (controller.signal.aborted) return exit(130)
    controller.abort()
  })
  return {
    signal: controller.signal,
    interceptInterrupts(handler) {
      handlers.push(handler)
      return () => {
        const index = handlers.lastIndexOf(handler)
        if (index !== -1) handlers.splice(index, 1)
      }
    },
  }
}
