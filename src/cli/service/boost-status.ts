import type { Run } from '../command.ts'
import { showBoost } from './boost.ts'

export const run: Run = (context) => showBoost(context)
