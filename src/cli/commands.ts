import type { Row } from './command.ts'
import { localCommands } from './local/index.ts'
import { serviceCommands } from './service/index.ts'

/** Every command of `svc`, in the order of its help. */
export const commands: readonly Row[] = [...serviceCommands, ...localCommands]
