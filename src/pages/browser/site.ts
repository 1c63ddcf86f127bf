/** On every page: signing out, copying code, and a menu that closes when one is done with it. */
import { common, find, findAll, signedOut } from './page.ts'
import { call, CallFailure } from './service.ts'
import { failureNotice } from './show.ts'

document.addEventListener('click', (event) => {
  const target = event.target instanceof Element ? event.target : null
  const copier = target?.closest('[data-copy]')
  if (copier instanceof HTMLElement) return void copy(copier)
  const leaver = target?.closest('[data-sign-out]')
  if (leaver instanceof HTMLButtonElement) return void signOut(leaver)
  for (const menu of openMenus()) if (!menu.contains(target)) menu.open = false
})

document.addEventListener('keydown', (event) => {
  if (event.key !== 'Escape') return
  for (const menu of openMenus()) {
    menu.open = false
    menu.querySelector('summary')?.focus()
  }
})

function openMenus(): HTMLDetailsElement[] {
  return findAll('details.menu[open]', HTMLDetailsElement)
}

async function copy(button: HTMLElement): Promise<void> {
  const code = button.closest('.code-block')?.querySelector('code')
  const text = code?.textContent ?? ''
  try {
    await navigator.clipboard.writeText(text)
    flash(button)
  } catch {
    // Without the clipboard (plain http on a network address) the text is selected, one key press from copied.
    if (code !== null && code !== undefined) getSelection()?.selectAllChildren(code)
  }
}

function flash(button: HTMLElement): void {
  button.textContent = common.copied
  button.classList.add('done')
  setTimeout(() => {
    button.textContent = common.copy
    button.classList.remove('done')
  }, 2000)
}

async function signOut(button: HTMLButtonElement): Promise<void> {
  button.disabled = true
  try {
    await call('post', '/api/membership/auth/sign-out').catch((failure: unknown) => {
      // Signed out already, in another tab or by time: what this one keeps has to go all the same.
      if (!(failure instanceof CallFailure && failure.code === 'sign_in_required')) throw failure
    })
    // Conversations of this tab are of whoever was signed in.
    dispatchEvent(new Event(signedOut))
    sessionStorage.clear()
    location.assign('/')
  } catch (failure) {
    button.disabled = false
    find('#content', HTMLElement).prepend(failureNotice(failure))
  }
}
