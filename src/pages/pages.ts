/** The site's pages. */
import type { Page } from './page.ts'
import { accountView } from './views/account.ts'
import { chatView } from './views/chat.ts'
import { connectView } from './views/connect.ts'
import { deviceView } from './views/device.ts'
import { docsView } from './views/docs.ts'
import { homeView } from './views/home.ts'
import { keysView } from './views/keys.ts'
import { sessionsView } from './views/sessions.ts'
import { signInLinkView } from './views/sign-in-link.ts'
import { signInView } from './views/sign-in.ts'

export const pages: readonly Page[] = [
  { path: '/', for: 'everyone', view: homeView },
  { path: '/docs', for: 'everyone', view: docsView },
  { path: '/sign-in', for: 'guests', view: signInView },
  { path: '/sign-in/link', for: 'everyone', view: signInLinkView },
  { path: '/account', for: 'members', view: accountView },
  { path: '/keys', for: 'members', view: keysView },
  { path: '/sessions', for: 'members', view: sessionsView },
  { path: '/device', for: 'members', view: deviceView },
  { path: '/connect/:uid', for: 'members', view: connectView },
  { path: '/chat', for: 'members', view: chatView },
]
