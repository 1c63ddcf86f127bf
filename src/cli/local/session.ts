/** A command of the workbench from its connection to its end; this is where the workbench is started when it is not there. */
import { join } from 'node:path'
import type { Context } from '../context.ts'
import type { ExitCode } from '../exit-code.ts'
import { version } from '../version.ts'
import type { WorkbenchClient } from './client.ts'
import { connectWorkbench, NotRunning, unreachable } from './client.ts'
import { launch } from './launch.ts'
import type { Place } from './place.ts'
import { placeOf } from './place.ts'

const answerMs = 60_000

/** Connects to the workbench, starting it when it is not there and may be, does the work, and hangs up. */
export async function withWorkbench(
  context: Context,
  work: (client: WorkbenchClient) => Promise<ExitCode | void>,
): Promise<ExitCode | void> {
  const client = await reach(context, placeOf(context))
  try {
    return await work(client)
  } finally {
    client.close()
  }
}

/** Undefined when nobody listens and the workbench must not be started for this. */
export async function reachRunning(context: Context): Promise<WorkbenchClient | undefined> {
  return attempt(context, placeOf(context))
}

async function reach(context: Context, place: Place): Promise<WorkbenchClient> {
  const running = await attempt(context, place)
  if (running) return running
  if (context.noStart) throw unreachable('it is not running')
  const done = context.progress({ en: 'starting the workbench…', zh: '正在启动工作台…' })
  try {
    await launch(context, place)
    return await patiently(context, place)
  } finally {
    done()
  }
}

/** Another command may be starting it at this moment: then it is a matter of a second. */
async function patiently(context: Context, place: Place): Promise<WorkbenchClient> {
  for (let tries = 0; tries < 100; tries += 1) {
    const client = await attempt(context, place)
    if (client) return client
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  throw unreachable('it was started and does not answer')
}

async function attempt(context: Context, place: Place): Promise<WorkbenchClient | undefined> {
  try {
    return await connectWorkbench({
      socketPath: place.socketPath,
      tokenPath: join(place.runDir, 'workbench.token'),
      platform: context.environment.platform,
      version: version(),
      caller: place.caller,
      timeoutMs: context.timeoutMs ?? answerMs,
      signal: context.signal,
    })
  } catch (error) {
    if (error instanceof NotRunning) return undefined
    throw error
  }
}
