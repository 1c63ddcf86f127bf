/** `svc-gateway reload` */
import { env } from '../../config/config.ts'
import { requestReload } from '../../server/reload/control-socket.ts'
import { evaluateConfig } from '../../server/reload/evaluate-config.ts'
import { DataFolder } from '../../system/data-folder/data-folder.ts'
import { describeSystemError, OperatorError } from '../../system/operator-error.ts'
import { renderResult } from '../output.ts'
import type { CommandResult, OutputOptions } from '../output.ts'

/** Lets the running server read its configuration again, and prints what it took over; exits with 1 where it refused it. */
export async function reload(options: OutputOptions): Promise<CommandResult> {
  const { path, controlSocket } = new DataFolder(await findDataDir())
  const report = await requestReload(controlSocket).catch((error: unknown) => {
    throw new OperatorError(
      `No server can be reached in ${path} (${describeSystemError(error)}). DATA_DIR names its data folder; where it runs, SIGHUP requests a reload too.`,
      { cause: error },
    )
  })
  if (!report.ok)
    return renderResult(
      options,
      report,
      () =>
        [
          'The configuration was not reloaded, and everything stays as it was:',
          ...report.faults.map((fault) => `  ${fault}`),
        ].join('\n'),
      false,
    )
  const { changed, needsRestart } = report
  return renderResult(options, report, () =>
    [
      changed.length === 0 ? 'Nothing has changed that can be reloaded.' : `Reloaded: ${changed.join(', ')}.`,
      ...(needsRestart.length === 0 ? [] : [`As before until a restart: ${needsRestart.join(', ')}.`]),
    ].join('\n'),
  )
}

/**
 * The server reports the faults of a configuration; whether it can be read with the variables of this shell does not matter. As in the server
 * it is evaluated in a process of its own: a file that ends its process would end this command, without a word and with success.
 */
async function findDataDir(): Promise<string> {
  try {
    return (await evaluateConfig()).values.store.dataDir
  } catch {
    return env.text('DATA_DIR', './data')
  }
}
