/** The link of a letter: shows whose account it opens, and opens it when asked to. */
import { element, failureNotice, find, membership, onSubmit, takeWayOn, texts } from './page.js'

const words = texts.signInLink
const link = location.hash.slice(1)
const form = find('[data-form=link]')
const outcome = find('.sign-in > [data-outcome]')

// Out of the address bar, and so out of what is looked over, copied or synchronised.
history.replaceState(null, '', location.pathname)

look().catch(refuse)

async function look() {
  const { email_masked: email } = await membership('POST', 'auth/link/look', { link })
  const [before, after] = words.whose.split('{email}')
  find('[data-whose]').replaceChildren(before, element('strong', {}, email), after)
  form.hidden = false
  find('button', form).focus()
}

onSubmit(form, async () => {
  await membership('POST', 'auth/link/verify', { link })
  location.assign(takeWayOn())
})

function refuse(failure) {
  outcome.replaceChildren(failureNotice(failure))
  find('[data-anew]').hidden = false
}
