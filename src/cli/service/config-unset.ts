import type { Run } from '../command.ts'
import { unsetSetting } from './config.ts'

export const run: Run = (context, args) => unsetSetting(context, args.need('name'))
