import type { Run } from '../command.ts'
import { showPath } from './config.ts'

export const run: Run = (context) => showPath(context)
