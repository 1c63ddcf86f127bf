/** Every command of `svc`, in the order of its help. */
import type { CommandSpec } from './command-table/command.ts'
import { workbenchCommands } from './workbench-commands/index.ts'
import { serviceCommands } from './service-commands/index.ts'

export const commands: readonly CommandSpec[] = [...serviceCommands, ...workbenchCommands]
