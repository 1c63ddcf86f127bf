/**
 * The only place that makes tmux display another window or pane. Each call requires the intent of a focus method; a
 * test reads the sources and fails when one of these command names appears anywhere else.
 */
import type { FocusMethod } from '../protocol/methods.ts'
import { WorkbenchError } from '../protocol/protocol.ts'
import { focusMethods } from '../protocol/methods.ts'
import type { Direction, FocusIntent } from '../engine/terminal-engine.ts'
import type { ControlClient, TmuxCommand } from './control.ts'
import { TmuxError } from './control.ts'

export const tmuxFocus = {
  workspace: (client: ControlClient, intent: FocusIntent, windowId: string): Promise<void> =>
    runFocusCommands(client, intent, ['select-window', '-t', windowId]),

  step: (client: ControlClient, intent: FocusIntent, session: string, step: 'next' | 'previous' | 'last'): Promise<void> =>
    runFocusCommands(client, intent, [`${step}-window`, '-t', `=${session}:`]),

  pane: (client: ControlClient, intent: FocusIntent, windowId: string, paneId: string): Promise<void> =>
    runFocusCommands(client, intent, ['select-window', '-t', windowId], ['select-pane', '-Z', '-t', paneId]),

  direction: (client: ControlClient, intent: FocusIntent, session: string, direction: Direction): Promise<void> =>
    runFocusCommands(client, intent, ['select-pane', '-Z', directionFlags[direction], '-t', `=${session}:`]),

  lastPane: (client: ControlClient, intent: FocusIntent, session: string): Promise<void> =>
    runFocusCommands(client, intent, ['last-pane', '-Z', '-t', `=${session}:`]),
}

const directionFlags: Readonly<Record<Direction, string>> = { right: '-R', left: '-L', up: '-U', down: '-D' }

async function runFocusCommands(client: ControlClient, intent: FocusIntent, ...commands: readonly TmuxCommand[]): Promise<void> {
  if (!focusMethods.includes(intent.method as FocusMethod)) throw new TypeError(`${intent.method} may not move the focus`)
  try {
    await client.run(...commands)
  } catch (error) {
    if (error instanceof TmuxError)
      throw new WorkbenchError('not_found', `there is no previous pane or workspace: ${error.message}`, { cause: error })
    throw error
  }
}
