/** The page of a magic link: shows whose account it opens, and signs in on confirmation. */
import './site.ts'
import { createElement, findElement, takeReturnPath, getTexts } from '../page.ts'
import { callApi } from '../api-client.ts'
import { insertNode, renderFailureNotice, onSubmit } from '../components/request-state.ts'

const texts = getTexts('signInLink')
const link = location.hash.slice(1)
const form = findElement('[data-form=link]', HTMLFormElement)
const outcome = findElement('.sign-in > [data-outcome]', HTMLElement)

// Removed from the address bar, so that it is not copied, synchronised or read over a shoulder.
history.replaceState(null, '', location.pathname)

inspectLink().catch(showFailure)

async function inspectLink(): Promise<void> {
  const { email_masked: email } = await callApi('post', '/api/membership/auth/magic-link/inspect', { body: { link } })
  findElement('[data-whose]', HTMLElement).replaceChildren(
    ...insertNode(texts.whose, '{email}', createElement('strong', {}, email)),
  )
  form.hidden = false
  findElement('button', HTMLButtonElement, form).focus()
}

onSubmit(form, async () => {
  await callApi('post', '/api/membership/auth/magic-link/verify', { body: { link } })
  location.assign(takeReturnPath())
})

function showFailure(failure: unknown): void {
  outcome.replaceChildren(renderFailureNotice(failure))
  findElement('[data-anew]', HTMLElement).hidden = false
}
