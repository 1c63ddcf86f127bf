/** Every command of `svc`, in the order of its help. */
import type { Row } from './command.ts'
import { localCommands } from './local/index.ts'
import { serviceCommands } from './service/index.ts'

export const commands: readonly Row[] = [...serviceCommands, ...localCommands]
