/** The link of a letter: shows whose account it opens, and opens it when asked to. */
import { element, find, takeWayOn, words } from './page.ts'
import { call } from './service.ts'
import { around, failureNotice, onSubmit } from './show.ts'

const texts = words('signInLink')
const link = location.hash.slice(1)
const form = find('[data-form=link]', HTMLFormElement)
const outcome = find('.sign-in > [data-outcome]', HTMLElement)

// Out of the address bar, and so out of what is looked over, copied or synchronised.
history.replaceState(null, '', location.pathname)

look().catch(refuse)

async function look(): Promise<void> {
  const { email_masked: email } = await call('post', '/api/membership/auth/link/look', { body: { link } })
  find('[data-whose]', HTMLElement).replaceChildren(...around(texts.whose, '{email}', element('strong', {}, email)))
  form.hidden = false
  find('button', HTMLButtonElement, form).focus()
}

onSubmit(form, async () => {
  await call('post', '/api/membership/auth/link/verify', { body: { link } })
  location.assign(takeWayOn())
})

function refuse(failure: unknown): void {
  outcome.replaceChildren(failureNotice(failure))
  find('[data-anew]', HTMLElement).hidden = false
}
