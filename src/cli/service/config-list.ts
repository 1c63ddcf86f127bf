import type { Run } from '../command.ts'
import { listSettings } from './config.ts'

export const run: Run = (context) => listSettings(context)
