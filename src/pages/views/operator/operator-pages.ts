/** The pages of the console behind its sign-in. */
import type { Page } from '../../page.ts'
import { consoleSections } from './sections.ts'
import { consoleSessionActions, createConsoleSessionView } from './session.ts'

export const operatorPages: readonly Page[] = [
  {
    ...consoleSections.session,
    audience: 'operators',
    view: createConsoleSessionView,
    actions: consoleSessionActions,
    notices: (t) => t.operator.notices,
  },
]
