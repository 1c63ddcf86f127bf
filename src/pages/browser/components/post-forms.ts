/** A form of the server is sent once, however often its button is pressed, and with the reader's time zone. */
import { readStored, writeStored } from '../device-storage.ts'
import { endAccountInBrowser } from '../kept-conversations.ts'
import { account, findElements } from '../page.ts'

const removedKey = 'removed-account'

export function setUpPostForms(): void {
  for (const form of findElements('form[data-post]', HTMLFormElement))
    form.addEventListener('submit', (event) => {
      if (form.getAttribute('aria-busy') === 'true') return event.preventDefault()
      form.setAttribute('aria-busy', 'true')
      const { timeZone } = new Intl.DateTimeFormat().resolvedOptions()
      const field = form.elements.namedItem('time_zone')
      if (field instanceof HTMLInputElement) field.value = timeZone
      if ('removesAccount' in form.dataset) writeStored('sessionStorage', removedKey, account)
    })
}

/** So that typing replaces it: the caret of a field with `autofocus` stands before what was typed. What was typed since then stays. */
export function selectRefusedEntry(): void {
  for (const field of findElements('form[data-post] input[aria-invalid]', HTMLInputElement)) {
    if (field.value !== field.defaultValue) continue
    field.focus()
    field.select()
  }
}

/** Once: the Back button leads to the page without what made it submit itself. */
export function submitOpenedForm(): void {
  for (const form of findElements('form[data-submits-itself]', HTMLFormElement)) {
    history.replaceState(null, '', location.pathname)
    form.requestSubmit()
  }
}

/** After its deletion, the next page has no member: what this browser keeps of the account is then deleted. */
export async function removeDeletedAccount(): Promise<void> {
  const removedAccount = readStored('sessionStorage', removedKey)
  if (removedAccount === null) return
  writeStored('sessionStorage', removedKey, null)
  if (account !== null) return
  await endAccountInBrowser(removedAccount, { isRemoved: true })
  sessionStorage.clear()
}
