import type { Row } from '../command.ts'

/** The commands of the hosted service. */
export const serviceCommands: readonly Row[] = []
