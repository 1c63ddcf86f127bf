/** The context of a command line in its surroundings: their streams, the clock, and what Ctrl-C does. */
import { randomBytes } from 'node:crypto'
import type { Context, Sink } from './context.ts'
import { toJsonLine, toSink } from './output.ts'
import type { Surroundings } from './surroundings.ts'
import type { Language, Text } from './text.ts'
import { inLanguage } from './text.ts'
import type { Values } from './values.ts'

/** Three weeks. Node's timers end at once where they are given more than 31 bits of milliseconds; some waits add a little of their own. */
const longestWaitMs = 21 * 24 * 3_600_000

export function createContext(globals: Values, surroundings: Surroundings, language: Language): Context {
  const { environment, leave } = surroundings
  const noColor = globals.flag('no-color')
  const stdout = toSink(surroundings.stdout, environment, noColor, () => leave(0))
  const stderr = toSink(surroundings.stderr, environment, noColor, () => leave(0))
  const say = (text: Text) => inLanguage(text, language)
  const json = globals.flag('json')
  const quiet = globals.flag('quiet')
  const verbose = globals.flag('verbose')
  const timeout = globals.number('timeout')
  const interrupt = listenForInterrupts(surroundings)
  return {
    stdout,
    stderr,
    stdin: surroundings.stdin,
    environment,
    language,
    json,
    quiet,
    verbose,
    timeoutMs: timeout === undefined ? undefined : Math.min(Math.round(timeout * 1000), longestWaitMs),
    socketPath: globals.text('socket'),
    noStart: globals.flag('no-start') || (environment.variables['SVC_NO_START'] ?? '') !== '',
    signal: interrupt.signal,
    interrupted: interrupt.interrupted,
    now: () => Date.now(),
    random: (bytes) => randomBytes(bytes),
    say,
    result(value, text) {
      if (json) return stdout.write(toJsonLine({ ok: true, result: value }))
      const shown = text()
      if (shown !== '') stdout.write(shown.endsWith('\n') ? shown : `${shown}\n`)
    },
    event: (value) => stdout.write(toJsonLine(value)),
    note(text) {
      if (!quiet) stderr.write(`${say(text)}\n`)
    },
    detail(text) {
      if (verbose) stderr.write(`${say(text)}\n`)
    },
    progress: (text) => (quiet ? () => {} : showProgress(stderr, say(text))),
  }
}

const progressAfterMs = 1000

function showProgress(stderr: Sink, text: string): () => void {
  if (!stderr.isTerminal) return () => {}
  let shown = false
  const timer = setTimeout(() => {
    shown = true
    stderr.write(stderr.styled ? text : `${text}\n`)
  }, progressAfterMs)
  return () => {
    clearTimeout(timer)
    if (shown && stderr.styled) stderr.write('\r\u001b[K')
    shown = false
  }
}

/** The first Ctrl-C asks the command to stop, the second one does not ask. */
function listenForInterrupts({ onInterrupt, leave }: Surroundings): Pick<Context, 'signal' | 'interrupted'> {
  const controller = new AbortController()
  const handlers: (() => void)[] = []
  onInterrupt(() => {
    const handler = handlers.at(-1)
    if (handler !== undefined) return handler()
    if (controller.signal.aborted) return leave(130)
    controller.abort()
  })
  return {
    signal: controller.signal,
    interrupted(handler) {
      handlers.push(handler)
      return () => {
        const index = handlers.lastIndexOf(handler)
        if (index !== -1) handlers.splice(index, 1)
      }
    },
  }
}
