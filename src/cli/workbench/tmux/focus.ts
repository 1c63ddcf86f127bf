/**
 * The only place from which tmux is told to show another window or pane. Each call takes the intent of a focus method; a
 * test reads the sources and fails when one of these command names appears anywhere else.
 */
import type { FocusMethod } from '../protocol.ts'
import { focusMethods, WorkbenchError } from '../protocol.ts'
import type { Direction, FocusIntent } from '../engine.ts'
import type { ControlClient, TmuxCommand } from './control.ts'
import { TmuxError } from './control.ts'

export const tmuxFocus = {
  workspace: (client: ControlClient, intent: FocusIntent, windowId: string): Promise<void> =>
    move(client, intent, ['select-window', '-t', windowId]),

  step: (client: ControlClient, intent: FocusIntent, session: string, step: 'next' | 'previous' | 'last'): Promise<void> =>
    move(client, intent, [`${step}-window`, '-t', `=${session}:`]),

  pane: (client: ControlClient, intent: FocusIntent, windowId: string, paneId: string): Promise<void> =>
    move(client, intent, ['select-window', '-t', windowId], ['select-pane', '-Z', '-t', paneId]),

  direction: (client: ControlClient, intent: FocusIntent, session: string, direction: Direction): Promise<void> =>
    move(client, intent, ['select-pane', '-Z', flagOf[direction], '-t', `=${session}:`]),

  lastPane: (client: ControlClient, intent: FocusIntent, session: string): Promise<void> =>
    move(client, intent, ['last-pane', '-Z', '-t', `=${session}:`]),
}

const flagOf: Readonly<Record<Direction, string>> = { right: '-R', left: '-L', up: '-U', down: '-D' }

async function move(client: ControlClient, intent: FocusIntent, ...commands: readonly TmuxCommand[]): Promise<void> {
  if (!focusMethods.includes(intent.method as FocusMethod)) throw new TypeError(`${intent.method} may not move the focus`)
  try {
    await client.run(...commands)
  } catch (error) {
    if (error instanceof TmuxError)
      throw new WorkbenchError('not_found', `there is nothing to go to: ${error.message}`, { cause: error })
    throw error
  }
}
