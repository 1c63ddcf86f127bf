/** On every page, and imported by each page's own script: signing out, copying code, and a menu that closes when one is done with it. */
import { copyText } from '../copy-text.ts'
import { endAccountInBrowser, hasKeptConversations, reloadAtSignOut } from '../kept-conversations.ts'
import { account, commonTexts, createElement, findElement, findElements } from '../page.ts'
import { readStored, writeStored } from '../device-storage.ts'
import { callApi, ApiError } from '../api-client.ts'
import { renderFailureNotice } from '../components/request-state.ts'
import { removeDeletedAccount } from '../components/post-forms.ts'
import '../components/tooltip.ts'

const placeKey = 'place'

restorePlace()
void removeDeletedAccount()

document.addEventListener('click', (event) => {
  const target = event.target instanceof Element ? event.target : null
  const dismisser = target?.closest('a[data-dismiss]')
  if (dismisser instanceof HTMLAnchorElement) {
    event.preventDefault()
    return dismissNotice(dismisser)
  }
  const chooser = target?.closest('a[data-keep-place]')
  if (chooser instanceof HTMLAnchorElement) return keepPlace(chooser)
  const copier = target?.closest('[data-copy]')
  if (copier instanceof HTMLElement) return void copyCode(copier)
  const leaver = target?.closest('[data-sign-out]')
  if (leaver instanceof HTMLButtonElement) {
    event.preventDefault()
    return askSignOut(leaver)
  }
  for (const menu of findOpenMenus()) if (!menu.contains(target)) menu.open = false
})

document.addEventListener('keydown', (event) => {
  if (event.key !== 'Escape') return
  for (const menu of findOpenMenus()) {
    menu.open = false
    menu.querySelector('summary')?.focus()
  }
})

// The keyboard has gone on. A dialog that was opened from a menu gives the focus back to it.
document.addEventListener('focusin', ({ target }) => {
  if (!(target instanceof Element) || target.closest('dialog') !== null) return
  for (const menu of findOpenMenus()) if (!menu.contains(target)) menu.open = false
})

// The chat's page does this by itself, after it has kept what is typed.
if (account !== null && document.querySelector('[data-composer]') === null) reloadAtSignOut(account)

// WebKit keeps pages served over plain http for its Back button, although they are `no-store`; the member may have signed out since.
addEventListener('pageshow', (event) => {
  if (event.persisted && account !== null) location.reload()
})

/** A page in another language or other colours opens where this one was, at its anchor or as far down. */
function keepPlace(link: HTMLAnchorElement): void {
  const { scrollHeight, clientHeight } = document.documentElement
  link.hash = location.hash
  if (location.hash !== '') return
  writeStored('sessionStorage', placeKey, String(scrollY / Math.max(1, scrollHeight - clientHeight)))
}

function restorePlace(): void {
  const place = readStored('sessionStorage', placeKey)
  if (place === null) return
  writeStored('sessionStorage', placeKey, null)
  const { scrollHeight, clientHeight } = document.documentElement
  scrollTo({ top: Number(place) * (scrollHeight - clientHeight), behavior: 'instant' })
}

/** The link keeps it in a cookie; the page itself, which may show an answer that is being written, stays. */
function dismissNotice(link: HTMLAnchorElement): void {
  void fetch(link.href, { redirect: 'manual' }).catch(() => undefined)
  const notice = link.closest('details')
  if (notice === null) return
  notice.open = false
  notice.querySelector('summary')?.focus()
  link.remove()
}

function findOpenMenus(): HTMLDetailsElement[] {
  return findElements('details.menu[open]', HTMLDetailsElement)
}

async function copyCode(button: HTMLElement): Promise<void> {
  const code = button.closest('.code-block, .copy-field')?.querySelector('code')
  if (code !== null && code !== undefined && (await copyText(code.textContent, code))) showCopied(button)
}

function showCopied(button: HTMLElement): void {
  button.textContent = commonTexts.copied
  button.classList.add('done')
  setTimeout(() => {
    button.textContent = commonTexts.copy
    button.classList.remove('done')
  }, 2000)
}

/** Asks first what shall become of the conversations that the chat keeps in this browser. */
function askSignOut(button: HTMLButtonElement): void {
  if (account === null || !hasKeptConversations(account)) return void signOut(button, false)
  const choose = (label: string, kind: string, run: () => void) =>
    createElement(
      'button',
      {
        class: `button ${kind}`,
        type: 'button',
        onclick: () => {
          dialog.close()
          run()
        },
      },
      label,
    )
  const { signOutAsk } = commonTexts
  const dialog: HTMLDialogElement = createElement(
    'dialog',
    { class: 'dialog', 'aria-labelledby': 'sign-out-ask', onclose: () => dialog.remove() },
    createElement('h2', { id: 'sign-out-ask' }, signOutAsk.title),
    createElement('p', { class: 'sub' }, signOutAsk.text),
    createElement(
      'div',
      { class: 'actions' },
      choose(signOutAsk.keep, '', () => void signOut(button, false)),
      choose(signOutAsk.remove, 'danger-quiet', () => void signOut(button, true)),
      choose(commonTexts.cancel, 'quiet', () => undefined),
    ),
  )
  document.body.append(dialog)
  dialog.showModal()
}

async function signOut(button: HTMLButtonElement, isRemoving: boolean): Promise<void> {
  button.disabled = true
  try {
    const signOutAnswer = await callApi('post', '/api/membership/auth/sign-out').catch((failure: unknown) => {
      // Already signed out, in another tab or by expiry: this tab's data is cleared all the same.
      if (!(failure instanceof ApiError && failure.code === 'sign_in_required')) throw failure
      return null
    })
    // What this tab and others hold belongs to the previous member.
    if (account !== null) await endAccountInBrowser(account, { isRemoved: isRemoving })
    sessionStorage.clear()
    location.assign(signOutAnswer?.provider_sign_out_url ?? '/')
  } catch (failure) {
    button.disabled = false
    findElement('#content', HTMLElement).prepend(renderFailureNotice(failure))
  }
}
