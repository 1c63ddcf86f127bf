/** The program `svc`. `svc --version` is answered from here alone, so it costs little more than the start of Node. */

/** Runs one command line (without the program's own name) and ends the process with its exit code. */
export async function main(words: readonly string[]): Promise<void> {
  process.stdout.on('error', outputFailed)
  if (words.length > 0 && words.every((word) => word === '--version' || word === '-V' || word === '--json')) {
    const { printVersion } = await import('./print-version.ts')
    return printVersion(process.stdout, words.includes('--json'))
  }
  const { runAndLeave } = await import('./run.ts')
  await runAndLeave(words)
}

/** `svc --help | true`: nobody reads any more, which is no failure of ours; a full disk is one, and no fault of the program's. */
function outputFailed(error: NodeJS.ErrnoException): void {
  if (error.code === 'EPIPE') return
  process.stderr.write(`error: Cannot write the output: ${error.message}\n`)
  process.exit(1)
}

if (import.meta.main) await main(process.argv.slice(2))
