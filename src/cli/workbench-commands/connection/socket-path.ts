/**
 * The path of the workbench's socket: `--socket`, `SVC_SOCKET`, `$XDG_RUNTIME_DIR/svc`, the user's state directory. Never below
 * TMPDIR, where other users may write. On Windows a named pipe.
 */
import { createHash } from 'node:crypto'
import { join, resolve } from 'node:path'

interface SocketPathInput {
  /** `--socket`. */
  readonly option?: string | undefined
  readonly env: Readonly<Record<string, string | undefined>>
  readonly home: string
  readonly user: string
  readonly platform: NodeJS.Platform
}

export function resolveSocketPath(input: SocketPathInput): string {
  const { env, home } = input
  const socketOption = input.option ?? env['SVC_SOCKET']
  // The workbench runs in another directory, so a relative path must become absolute here.
  if (socketOption) return input.platform === 'win32' ? socketOption : resolve(socketOption)
  if (input.platform === 'win32') {
    const name = createHash('sha256').update(`${input.user}\0${home}`).digest('hex').slice(0, 16)
    return `\\\\.\\pipe\\svc-${name}`
  }
  const runtime = env['XDG_RUNTIME_DIR']
  if (runtime) return join(runtime, 'svc', 'workbench.sock')
  return join(home, '.local', 'state', 'svc', 'run', 'workbench.sock')
}
