/** Replaces the terminal engine on a machine without one: every call fails with the command that installs it. */
import type { TerminalEngine } from './terminal-engine.ts'
import type { WorkbenchError } from '../protocol/protocol.ts'

export function createMissingEngine(reason: WorkbenchError): TerminalEngine {
  const missing = (): Promise<never> => Promise.reject(reason)
  return {
    name: 'none',
    attachCommand: null,
    listWorkspaces: missing,
    createWorkspace: missing,
    renameWorkspace: missing,
    closeWorkspace: missing,
    splitPane: missing,
    closePane: missing,
    stopPane: missing,
    respawnPane: missing,
    resizePane: missing,
    sendText: missing,
    sendKey: missing,
    capturePane: missing,
    setStatusEntry: missing,
    setNotice: missing,
    saveMetadata: missing,
    // Nothing is displayed, so nothing has the focus; the rest of the workbench works.
    getFocus: () => Promise.resolve({ workspaceId: null, paneId: null }),
    listClients: () => Promise.resolve([]),
    onChange: () => undefined,
    close: () => Promise.resolve(),
    focusWorkspace: missing,
    stepWorkspace: missing,
    focusPane: missing,
    focusDirection: missing,
    focusLastPane: missing,
  }
}
