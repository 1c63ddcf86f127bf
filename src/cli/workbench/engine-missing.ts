/** Stands where the terminal engine would, on a machine without one: everything that needs it says what to install. */
import type { TerminalEngine } from './engine.ts'
import type { WorkbenchError } from './protocol.ts'

export function missingEngine(reason: WorkbenchError): TerminalEngine {
  const missing = (): Promise<never> => Promise.reject(reason)
  return {
    name: 'none',
    attach: null,
    list: missing,
    createWorkspace: missing,
    renameWorkspace: missing,
    closeWorkspace: missing,
    split: missing,
    closePane: missing,
    stop: missing,
    respawn: missing,
    resizePane: missing,
    send: missing,
    key: missing,
    capture: missing,
    mark: missing,
    keep: missing,
    // Nothing is shown, so nothing is focused and nobody looks: the rest of the workbench works.
    focused: () => Promise.resolve({ workspaceId: null, paneId: null }),
    clients: () => Promise.resolve([]),
    onChange: () => undefined,
    close: () => Promise.resolve(),
    focusWorkspace: missing,
    stepWorkspace: missing,
    focusPane: missing,
    focusDirection: missing,
    lastPane: missing,
  }
}
