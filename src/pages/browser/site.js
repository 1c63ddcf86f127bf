/** On every page: signing out, copying code, and a menu that closes when one is done with it. */
import { failureNotice, membership, texts } from './page.js'

document.addEventListener('click', async (event) => {
  const target = event.target instanceof Element ? event.target : null
  const copier = target?.closest('[data-copy]')
  if (copier !== null && copier !== undefined) return copy(copier)
  const leaver = target?.closest('[data-sign-out]')
  if (leaver !== null && leaver !== undefined) return signOut(leaver)
  for (const menu of document.querySelectorAll('details.menu[open]')) if (!menu.contains(target)) menu.open = false
})

document.addEventListener('keydown', (event) => {
  if (event.key !== 'Escape') return
  for (const menu of document.querySelectorAll('details.menu[open]')) {
    menu.open = false
    menu.querySelector('summary')?.focus()
  }
})

async function copy(button) {
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

function flash(button) {
  button.textContent = texts.common.copied
  button.classList.add('done')
  setTimeout(() => {
    button.textContent = texts.common.copy
    button.classList.remove('done')
  }, 2000)
}

async function signOut(button) {
  button.disabled = true
  try {
    await membership('POST', 'auth/sign-out')
    // Conversations of this tab are of whoever was signed in.
    sessionStorage.clear()
    location.assign('/')
  } catch (failure) {
    button.disabled = false
    document.getElementById('content')?.prepend(failureNotice(failure))
  }
}
