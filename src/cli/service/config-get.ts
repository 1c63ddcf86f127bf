import type { Run } from '../command.ts'
import { getSetting } from './config.ts'

export const run: Run = (context, args) => getSetting(context, args.need('name'))
