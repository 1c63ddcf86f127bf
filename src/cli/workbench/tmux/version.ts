/** Whether the tmux of this machine will do. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { WorkbenchError } from '../protocol.ts'

export const tmuxHint = 'install tmux 3.2 or newer: apt install tmux · dnf install tmux · brew install tmux'

const run = promisify(execFile)
const oldestVersion = 3.2

/** Which tmux is on the PATH. Throws `engine_unavailable` with the command that installs it. */
export async function tmuxVersion(env: Readonly<Record<string, string>>): Promise<string> {
  const answer = await run('tmux', ['-V'], { env, timeout: 5_000 }).catch((cause: unknown) => {
    throw new WorkbenchError('engine_unavailable', 'tmux is not installed', { hint: tmuxHint, cause })
  })
  const version = answer.stdout.trim()
  if (Number.parseFloat(version.replace(/^\D+/, '')) < oldestVersion) {
    throw new WorkbenchError('engine_unavailable', `${version} is too old`, { hint: tmuxHint })
  }
  return version
}
