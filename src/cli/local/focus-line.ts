import type { Focus } from '../workbench/protocol.ts'

/** Where the focus is, on one line: workspace and pane. */
export function focusLine(focused: Focus): string {
  return `${focused.workspaceId ?? '-'}  ${focused.paneId ?? '-'}`
}
