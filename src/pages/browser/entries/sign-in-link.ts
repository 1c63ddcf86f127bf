/** The page of a magic link: sends the link, which is in the address where no server sees it. */
import './member.ts'
import { findElements } from '../page.ts'

const link = location.hash.slice(1)

// Removed from the address bar, so that it is not copied, synchronised or read over a shoulder.
history.replaceState(null, '', location.pathname)
for (const field of findElements('[name=link]:not([type=hidden])', HTMLInputElement)) {
  if (link === '') continue
  field.value = link
  field.form?.requestSubmit()
}
