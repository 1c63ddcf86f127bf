import type { Run } from '../command.ts'
import { takeBoost } from './boost.ts'

export const run: Run = (context) => takeBoost(context, 'rush_grab')
