import type { Run } from '../command.ts'
import { setSetting } from './config.ts'

export const run: Run = (context, args) => setSetting(context, args.need('name'), args.need('value'))
