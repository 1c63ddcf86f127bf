/** The parts of the process that a command line uses. A test passes its own and starts no process. */
import { homedir } from 'node:os'
import type { Writable } from 'node:stream'
import type { Environment } from './user-config/credentials.ts'
import { readEnvironment } from './user-config/credentials.ts'

export interface ProcessIo {
  readonly environment: Environment
  readonly stdin: NodeJS.ReadStream
  readonly stdout: ProcessOutput
  readonly stderr: ProcessOutput
  /** Calls the listener at each Ctrl-C instead of ending the process. */
  readonly onInterrupt: (listener: () => void) => void
  /** Ends the process at once with the exit code. */
  readonly exit: (code: number) => void
}

/** An output stream; a terminal sets `isTTY` and its width. */
export type ProcessOutput = Writable & { readonly isTTY?: boolean; readonly columns?: number; readonly rows?: number }

export function fromProcess(): ProcessIo {
  const { stdout, stderr } = process
  return {
    environment: readEnvironment(findHome()),
    // Opened only for a command that may read it.
    get stdin() {
      return process.stdin
    },
    stdout,
    stderr,
    onInterrupt: (listener) => process.on('SIGINT', listener),
    exit: (code) => process.exit(code),
  }
}

/** A user id without a name may have no home either, as in some containers. A command that needs a file then reports that it cannot write it. */
function findHome(): string {
  try {
    return homedir()
  } catch {
    return '/'
  }
}
