/** What a command line gets of the process that it runs in. A test hands in its own, and starts no process. */
import { homedir } from 'node:os'
import type { Writable } from 'node:stream'
import type { Environment } from './credentials.ts'
import { readEnvironment } from './credentials.ts'

export interface Surroundings {
  readonly environment: Environment
  readonly stdin: NodeJS.ReadStream
  readonly stdout: Output
  readonly stderr: Output
  /** Calls the listener at each Ctrl-C, which then does nothing else. */
  readonly onInterrupt: (listener: () => void) => void
  /** Ends the process at once, with the exit code given. */
  readonly leave: (code: number) => void
}

/** A terminal says that it is one, and how wide. */
export type Output = Writable & { readonly isTTY?: boolean; readonly columns?: number }

export function ofThisProcess(): Surroundings {
  const { stdout, stderr } = process
  return {
    environment: readEnvironment(home()),
    // Opened only for a command that may read it.
    get stdin() {
      return process.stdin
    },
    stdout,
    stderr,
    onInterrupt: (listener) => process.on('SIGINT', listener),
    leave: (code) => process.exit(code),
  }
}

/** A user without a name may have no home either, as in some containers: what needs a file then says that it cannot write it. */
function home(): string {
  try {
    return homedir()
  } catch {
    return '/'
  }
}
