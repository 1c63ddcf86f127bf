/** The entry of the program `svc`. `svc --version` is answered here without loading the rest, so it costs little more than a start of Node. */

/** Runs one command line (without the program's own name) and ends the process with its exit code. */
export async function main(words: readonly string[]): Promise<void> {
  process.stdout.on('error', handleOutputError)
  if (words.length > 0 && words.every((word) => word === '--version' || word === '-V' || word === '--json')) {
    const { printVersion } = await import('./print-version.ts')
    return printVersion(process.stdout, words.includes('--json'))
  }
  const { runAndExit } = await import('./run.ts')
  await runAndExit(words)
}

/** In `svc --help | true` the reader closes the pipe, which is not a failure. A full disk is a failure, but not a bug. */
function handleOutputError(error: NodeJS.ErrnoException): void {
  if (error.code === 'EPIPE') return
  process.stderr.write(`error: Cannot write the output: ${error.message}\n`)
  process.exit(1)
}

if (import.meta.main) await main(process.argv.slice(2))
