/** Changes the address and the password, and deletes the account; all need more than a session. */
import './site.ts'
import { parseEmailCode, parseOnPaste } from '../components/pasted-code.ts'
import { endAccountInBrowser } from '../kept-conversations.ts'
import { account, findElement, findElements, getTexts, interpolate } from '../page.ts'
import { callApi, ApiError } from '../api-client.ts'
import type { GetFieldValue } from '../components/request-state.ts'
import { onSubmit, renderFailureNotice, renderSuccessNotice } from '../components/request-state.ts'
import type { Evidence } from '../api-types.ts'

const texts = getTexts('account')
// Where the providers are the only way in, there is no password.
const passwordForms = findElements('[data-form=password]', HTMLFormElement)
const deleteForm = findElement('[data-form=delete]', HTMLFormElement)
const emailForm = findElement('[data-form=email]', HTMLFormElement)
const emailCodeForm = findElement('[data-form=email-code]', HTMLFormElement)
parseOnPaste(findElement('[name=code]', HTMLInputElement, emailCodeForm), parseEmailCode)
for (const form of [emailForm, ...passwordForms, deleteForm]) {
  parseOnPaste(findElement('[name=code]', HTMLInputElement, form), parseEmailCode)
  findElement('[data-prove]', HTMLElement, form).addEventListener('click', () =>
    requestReauthentication(form).catch((failure: unknown) => findOutcome(form).replaceChildren(renderFailureNotice(failure))),
  )
}

let newEmail = ''
onSubmit(emailForm, async (typed) => {
  newEmail = typed('email').trim()
  const body = { email: newEmail, ...toEvidence(typed) }
  let isDelayed = false
  const send = async (): Promise<void> => {
    isDelayed = (await callApi('post', '/api/membership/auth/email/start', { body })).delayed
  }
  if (!(await submitReauthenticated(emailForm, send))) return
  const note = isDelayed ? texts.proofDelayed : interpolate(texts.emailCodeSent, { email: newEmail })
  findElement('[data-sent]', HTMLElement, emailCodeForm).textContent = note
  // The first form stays, for another address or another code.
  emailCodeForm.hidden = false
  findElement('[name=code]', HTMLInputElement, emailCodeForm).focus()
})
onSubmit(emailCodeForm, async (typed) => {
  const body = { email: newEmail, code: parseEmailCode(typed('code')) }
  await callApi('post', '/api/membership/auth/email', { body })
  // The whole page names the address.
  location.assign('/account/security?saved=email')
})

for (const form of passwordForms)
  onSubmit(form, async (typed, outcome) => {
    const body = { password: typed('password'), ...toEvidence(typed) }
    if (!(await submitReauthenticated(form, () => callApi('post', '/api/membership/auth/password', { body })))) return
    form.reset()
    findElement('[data-proof]', HTMLElement, form).hidden = true
    outcome.replaceChildren(renderSuccessNotice(texts.passwordSaved))
  })

/** The filled one of password and code; an empty field proves nothing. */
function toEvidence(typed: GetFieldValue): Evidence {
  const [current, code] = [typed('current'), typed('code')]
  return { ...(current === '' ? {} : { current }), ...(code === '' ? {} : { code: parseEmailCode(code) }) }
}

/** Where reauthentication is required and the account has no password, the code is sent at once. */
async function submitReauthenticated(form: HTMLFormElement, change: () => Promise<unknown>): Promise<boolean> {
  try {
    await change()
    return true
  } catch (failure) {
    if (!(failure instanceof ApiError && failure.code === 'reauthentication_required')) throw failure
    await requestReauthentication(form)
    return false
  }
}

async function requestReauthentication(form: HTMLFormElement): Promise<void> {
  const { delayed } = await callApi('post', '/api/membership/auth/reauthenticate')
  const field = findElement('[data-proof]', HTMLElement, form)
  field.hidden = false
  findElement('[name=current]', HTMLInputElement, form).value = ''
  findOutcome(form).replaceChildren(renderSuccessNotice(delayed ? texts.proofDelayed : texts.proofSent))
  findElement('[name=code]', HTMLInputElement, field).focus()
}

function findOutcome(form: HTMLFormElement): HTMLElement {
  return findElement('[data-outcome]', HTMLElement, form)
}

const dialog = findElement('[data-delete]', HTMLDialogElement)
findElement('[data-open-delete]', HTMLElement).addEventListener('click', () => dialog.showModal())
findElement('[data-close]', HTMLElement, dialog).addEventListener('click', () => dialog.close())
// Enter in a field sends most forms; one that cannot be undone waits for its button.
dialog.addEventListener('keydown', (event) => {
  if (event.key === 'Enter' && event.target instanceof HTMLInputElement) event.preventDefault()
})
onSubmit(deleteForm, async (typed) => {
  const body = { confirm: typed('email').trim(), ...toEvidence(typed) }
  if (!(await submitReauthenticated(deleteForm, () => callApi('post', '/api/membership/auth/delete-account', { body })))) return
  if (account !== null) await endAccountInBrowser(account, { isRemoved: true })
  sessionStorage.clear()
  location.assign('/')
})
