/** Runs a command on a connection to the workbench, and starts the workbench if it does not run. */
import { join } from 'node:path'
import type { Context } from '../../context.ts'
import type { ExitCode } from '../../exit-code.ts'
import { readVersion } from '../../../system/version.ts'
import type { WorkbenchClient } from './workbench-client.ts'
import { connectWorkbench, NotRunningError, createUnreachableFailure } from './workbench-client.ts'
import { launchWorkbench } from './launch-workbench.ts'
import type { WorkbenchPaths } from './workbench-paths.ts'
import { getWorkbenchPaths } from './workbench-paths.ts'

const defaultTimeoutMs = 60_000

/** Connects to the workbench (starting it if necessary and permitted), runs the callback, and closes the connection. */
export async function withWorkbench(
  context: Context,
  work: (client: WorkbenchClient) => Promise<ExitCode | void>,
): Promise<ExitCode | void> {
  const client = await connectOrStart(context, getWorkbenchPaths(context))
  try {
    return await work(client)
  } finally {
    client.close()
  }
}

/** Returns undefined if no workbench listens and it must not be started. */
export async function connectIfRunning(context: Context): Promise<WorkbenchClient | undefined> {
  return tryConnect(context, getWorkbenchPaths(context))
}

async function connectOrStart(context: Context, paths: WorkbenchPaths): Promise<WorkbenchClient> {
  const runningClient = await tryConnect(context, paths)
  if (runningClient) return runningClient
  if (context.noStart) throw createUnreachableFailure('it is not running')
  const stopProgress = context.showProgress({ en: 'Starting the workbench …', zh: '正在启动工作台 …' })
  try {
    await launchWorkbench(context, paths)
    return await waitUntilStarted(context, paths)
  } finally {
    stopProgress()
  }
}

/** Another command may be starting the workbench at this moment, which takes about a second. */
async function waitUntilStarted(context: Context, paths: WorkbenchPaths): Promise<WorkbenchClient> {
  for (let tries = 0; tries < 100; tries += 1) {
    const client = await tryConnect(context, paths)
    if (client) return client
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  throw createUnreachableFailure('it was started and does not answer')
}

async function tryConnect(context: Context, paths: WorkbenchPaths): Promise<WorkbenchClient | undefined> {
  try {
    return await connectWorkbench({
      socketPath: paths.socketPath,
      tokenPath: join(paths.runDir, 'workbench.token'),
      platform: context.environment.platform,
      version: readVersion(),
      caller: paths.caller,
      timeoutMs: context.timeoutMs ?? defaultTimeoutMs,
      signal: context.signal,
    })
  } catch (error) {
    if (error instanceof NotRunningError) return undefined
    throw error
  }
}
