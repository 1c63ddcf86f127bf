/** Where the focus is, on one line: workspace and pane. */
import type { Focus } from '../workbench/protocol.ts'

export function focusLine(focused: Focus): string {
  return `${focused.workspaceId ?? '-'}  ${focused.paneId ?? '-'}`
}
