/** Where the focus is, on one line: workspace and pane. */
import type { Focus } from '../workbench/results.ts'

export function focusLine(focused: Focus): string {
  return `${focused.workspaceId ?? '-'}  ${focused.paneId ?? '-'}`
}
