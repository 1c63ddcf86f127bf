/** Signing in: three ways, each a form or two, one at a time. */
import { mailCode, readPasted } from './codes.ts'
import { element, fill, find, findAll, keepWayOn, takeWayOn, told, words } from './page.ts'
import { call } from './service.ts'
import { around, onSubmit } from './show.ts'

const texts = words('signIn')
const { next, signUp } = told('sign-in')
const tabs = findAll('[role=tab]', HTMLElement)

for (const [place, tab] of tabs.entries()) {
  const keys: Readonly<Record<string, number>> = { ArrowRight: place + 1, ArrowLeft: place - 1, Home: 0, End: tabs.length - 1 }
  tab.addEventListener('click', () => choose(tab))
  tab.addEventListener('keydown', (event) => {
    const to = keys[event.key]
    const other = to === undefined ? undefined : tabs[(to + tabs.length) % tabs.length]
    if (other === undefined) return
    event.preventDefault()
    choose(other)
    other.focus()
  })
}

function choose(chosen: HTMLElement): void {
  const typed = shownEmail()?.value ?? ''
  for (const tab of tabs) {
    const selected = tab === chosen
    tab.setAttribute('aria-selected', String(selected))
    tab.tabIndex = selected ? 0 : -1
    find(`#${tab.getAttribute('aria-controls')}`, HTMLElement).hidden = !selected
  }
  // Nobody should have to type an address twice.
  const email = shownEmail()
  if (email?.value === '') email.value = typed
}

/** The field for the address in what is shown of the three ways. */
function shownEmail(): HTMLInputElement | undefined {
  return findAll('[role=tabpanel]:not([hidden]) [name=email]', HTMLInputElement)[0]
}

twoSteps('otp-start', 'otp-verify', (asked) => call('post', '/api/membership/auth/otp/start', { body: asked }))
if (signUp)
  twoSteps('sign-up', 'sign-up-verify', (asked, password) =>
    call('post', '/api/membership/auth/sign-up', { body: { ...asked, password } }),
  )

/** For whom a code is asked. */
interface Asked {
  readonly email: string
  readonly invite?: string
}

onSubmit(find('[data-form=password]', HTMLFormElement), async (typed) => {
  await call('post', '/api/membership/auth/sign-in', { body: { email: typed('email').trim(), password: typed('password') } })
  goOn()
})

/** The way on is kept for a letter's link, which is not needed any more: one of another letter would lead there much later. */
function goOn(): void {
  takeWayOn()
  location.assign(next)
}

/** A form that has a code sent, and the one the code goes into. */
function twoSteps(
  firstName: string,
  secondName: string,
  send: (asked: Asked, password: string) => Promise<{ readonly resend_after: number }>,
): void {
  const first = find(`[data-form=${firstName}]`, HTMLFormElement)
  const second = find(`[data-form=${secondName}]`, HTMLFormElement)
  const again = find('[data-again]', HTMLButtonElement, second)
  const code = find('[name=code]', HTMLInputElement, second)
  let asked: Asked = { email: '' }
  let waiting: ReturnType<typeof setInterval> | undefined

  onSubmit(first, async (typed) => {
    const invite = typed('invite').trim()
    asked = { email: typed('email').trim(), ...(invite === '' ? {} : { invite }) }
    const { resend_after: wait } = await send(asked, typed('password'))
    keepWayOn(next)
    sent(wait)
  })

  function sent(wait: number): void {
    const email = element('strong', {}, asked.email)
    find('[data-sent]', HTMLElement, second).replaceChildren(...around(texts.codeSent, '{email}', email))
    first.hidden = true
    second.hidden = false
    code.focus()
    countDown(wait)
  }

  function countDown(seconds: number): void {
    clearInterval(waiting)
    const until = Date.now() + seconds * 1000
    const tick = () => {
      const left = Math.ceil((until - Date.now()) / 1000)
      again.disabled = left > 0
      again.textContent = left > 0 ? fill(texts.againIn, { seconds: left }) : texts.again
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

  find('[data-back]', HTMLElement, second).addEventListener('click', () => {
    clearInterval(waiting)
    second.hidden = true
    first.hidden = false
    find('[name=email]', HTMLElement, first).focus()
  })

  readPasted(code, mailCode)
  onSubmit(second, async (typed) => {
    await call('post', '/api/membership/auth/otp/verify', { body: { ...asked, code: mailCode(typed('code')) } })
    goOn()
  })
}
