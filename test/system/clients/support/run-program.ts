/** Runs a program to its end, or until its time is over. */
import { spawn } from 'node:child_process'

/** Only a program that hangs takes as long. */
const maxRunMs = 600_000

export interface ProgramResult {
  /** Null if it was ended because its time was over. */
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

export function runProgram(
  program: string,
  args: readonly string[],
  { env, cwd }: { readonly env: NodeJS.ProcessEnv; readonly cwd: string },
): Promise<ProgramResult> {
  // A group of its own, so that the programs that it has started end with it.
  const child = spawn(program, args, { env, cwd, stdio: ['ignore', 'pipe', 'pipe'], detached: true })
  let [stdout, stderr] = ['', '']
  child.stdout.on('data', (piece: Buffer) => void (stdout += piece.toString()))
  child.stderr.on('data', (piece: Buffer) => void (stderr += piece.toString()))
  const timer = setTimeout(() => endGroup(child.pid), maxRunMs)
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code) => {
      clearTimeout(timer)
      resolve({ code, stdout, stderr })
    })
  })
}

function endGroup(pid: number | undefined): void {
  if (pid === undefined) return
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // It has ended.
  }
}
