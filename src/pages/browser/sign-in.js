/** Signing in: three ways, each a form or two, one at a time. */
import { mailCode, readPasted } from './codes.js'
import { element, fill, find, keepWayOn, membership, onSubmit, page, texts } from './page.js'

const words = texts.signIn
const tabs = [...document.querySelectorAll('[role=tab]')]

for (const [place, tab] of tabs.entries()) {
  tab.addEventListener('click', () => choose(tab))
  tab.addEventListener('keydown', (event) => {
    const to = { ArrowRight: place + 1, ArrowLeft: place - 1, Home: 0, End: tabs.length - 1 }[event.key]
    if (to === undefined) return
    event.preventDefault()
    const next = tabs[(to + tabs.length) % tabs.length]
    choose(next)
    next.focus()
  })
}

function choose(chosen) {
  const typed = document.querySelector('[role=tabpanel]:not([hidden]) [name=email]')?.value ?? ''
  for (const tab of tabs) {
    const selected = tab === chosen
    tab.setAttribute('aria-selected', String(selected))
    tab.tabIndex = selected ? 0 : -1
    find(`#${tab.getAttribute('aria-controls')}`).hidden = !selected
  }
  // Nobody should have to type an address twice.
  const email = document.querySelector('[role=tabpanel]:not([hidden]) [name=email]')
  if (email !== null && email.value === '') email.value = typed
}

twoSteps('otp-start', 'otp-verify', 'auth/otp/start')
if (page.signUp) twoSteps('sign-up', 'sign-up-verify', 'auth/sign-up')

onSubmit(find('[data-form=password]'), async ({ email, password }) => {
  await membership('POST', 'auth/sign-in', { email: email.trim(), password })
  location.assign(page.next)
})

/** A form that has a code sent, and the one the code goes into. */
function twoSteps(firstName, secondName, endpoint) {
  const first = find(`[data-form=${firstName}]`)
  const second = find(`[data-form=${secondName}]`)
  const again = find('[data-again]', second)
  let asked = null
  let waiting = null

  onSubmit(first, async ({ email, password, invite }) => {
    asked = { email: email.trim(), ...(password === undefined ? {} : { password }), ...(invite ? { invite: invite.trim() } : {}) }
    const { resend_after: wait } = await membership('POST', endpoint, asked)
    keepWayOn(page.next)
    sent(wait)
  })

  function sent(wait = 60) {
    const [before, after] = words.codeSent.split('{email}')
    find('[data-sent]', second).replaceChildren(before, element('strong', {}, asked.email), after)
    first.hidden = true
    second.hidden = false
    find('[name=code]', second).focus()
    countDown(wait)
  }

  function countDown(seconds) {
    clearInterval(waiting)
    const until = Date.now() + seconds * 1000
    const tick = () => {
      const left = Math.ceil((until - Date.now()) / 1000)
      again.disabled = left > 0
      again.textContent = left > 0 ? fill(words.againIn, { seconds: left }) : words.again
      if (left <= 0) clearInterval(waiting)
    }
    tick()
    waiting = setInterval(tick, 1000)
  }

  again.addEventListener('click', () => {
    second.hidden = true
    first.hidden = false
    first.requestSubmit()
  })

  find('[data-back]', second).addEventListener('click', () => {
    clearInterval(waiting)
    second.hidden = true
    first.hidden = false
    find('[name=email]', first).focus()
  })

  readPasted(find('[name=code]', second), mailCode)
  onSubmit(second, async ({ code }) => {
    const { email, invite } = asked
    await membership('POST', 'auth/otp/verify', { email, code: mailCode(code), ...(invite === undefined ? {} : { invite }) })
    location.assign(page.next)
  })
}
