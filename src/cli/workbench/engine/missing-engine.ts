/** Replaces the terminal engine on a machine without one: every call fails with the command that installs it. */
import type { TerminalEngine } from './terminal-engine.ts'
import type { WorkbenchError } from '../protocol/protocol.ts'

export function createMissingEngine(reason: WorkbenchError): TerminalEngine {
  const rejectCall = (): Promise<never> => Promise.reject(reason)
  return {
    name: 'none',
    attachCommand: null,
    listWorkspaces: rejectCall,
    createWorkspace: rejectCall,
    renameWorkspace: rejectCall,
    closeWorkspace: rejectCall,
    splitPane: rejectCall,
    closePane: rejectCall,
    stopPane: rejectCall,
    respawnPane: rejectCall,
    resizePane: rejectCall,
    sendText: rejectCall,
    sendKey: rejectCall,
    capturePane: rejectCall,
    setStatusEntry: rejectCall,
    setNotice: rejectCall,
    saveMetadata: rejectCall,
    // Nothing is displayed, so nothing has the focus; the rest of the workbench works.
    getFocus: () => Promise.resolve({ workspaceId: null, paneId: null }),
    listClients: () => Promise.resolve([]),
    onChange: () => undefined,
    close: () => Promise.resolve(),
    focusWorkspace: rejectCall,
    stepWorkspace: rejectCall,
    focusPane: rejectCall,
    focusDirection: rejectCall,
    focusLastPane: rejectCall,
  }
}
