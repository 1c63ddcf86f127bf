/** Checks the version of tmux on this machine. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { WorkbenchError } from '../protocol/protocol.ts'

export const tmuxHint = 'install tmux 3.2 or newer: apt install tmux · dnf install tmux · brew install tmux'

const run = promisify(execFile)
const minVersion = 3.2

/** Returns the version of the tmux on the PATH. Throws `engine_unavailable` with the command that installs it. */
export async function readTmuxVersion(env: Readonly<Record<string, string>>): Promise<string> {
  const answer = await run('tmux', ['-V'], { env, timeout: 5_000 }).catch((cause: unknown) => {
    throw new WorkbenchError('engine_unavailable', 'tmux is not installed', { hint: tmuxHint, cause })
  })
  const version = answer.stdout.trim()
  if (Number.parseFloat(version.replace(/^\D+/, '')) < minVersion) {
    throw new WorkbenchError('engine_unavailable', `${version} is too old`, { hint: tmuxHint })
  }
  return version
}
