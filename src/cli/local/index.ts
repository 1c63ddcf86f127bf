import type { Row } from '../command.ts'

/** The commands of the workbench behind the local socket. */
export const localCommands: readonly Row[] = []
