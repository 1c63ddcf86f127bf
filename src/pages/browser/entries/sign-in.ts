/** Signing in: three ways, each a form or two, one at a time. */
import './site.ts'
import { parseOnPaste } from '../components/parse-on-paste.ts'
import { parseEmailCode } from '../../pasted-code.ts'
import {
  createElement,
  interpolate,
  findElement,
  findElements,
  saveReturnPath,
  takeReturnPath,
  getProps,
  getTexts,
} from '../page.ts'
import { callApi } from '../api-client.ts'
import { showFieldError } from '../components/field-error.ts'
import { insertNode, onSubmit } from '../components/request-state.ts'

const texts = getTexts('signIn')
const { next, signUp } = getProps('sign-in')
const tabs = findElements('[role=tab]', HTMLElement)

const stepKey = 'sign-in-step'
const codeLifetimeMs = 300_000

for (const [place, tab] of tabs.entries()) {
  const keys: Readonly<Record<string, number>> = { ArrowRight: place + 1, ArrowLeft: place - 1, Home: 0, End: tabs.length - 1 }
  tab.addEventListener('click', () => selectTab(tab))
  tab.addEventListener('keydown', (event) => {
    const to = keys[event.key]
    const other = to === undefined ? undefined : tabs[(to + tabs.length) % tabs.length]
    if (other === undefined) return
    event.preventDefault()
    selectTab(other)
    other.focus()
  })
}

function selectTab(chosen: HTMLElement): void {
  const typed = findVisibleEmailField()?.value ?? ''
  for (const tab of tabs) {
    const selected = tab === chosen
    tab.setAttribute('aria-selected', String(selected))
    tab.tabIndex = selected ? 0 : -1
    findElement(`#${tab.getAttribute('aria-controls')}`, HTMLElement).hidden = !selected
  }
  // The address is carried over, so that it is typed once.
  const email = findVisibleEmailField()
  if (email?.value === '') email.value = typed
}

/** The email field of the visible sign-in method. */
function findVisibleEmailField(): HTMLInputElement | undefined {
  return findElements('[role=tabpanel]:not([hidden]) [name=email]', HTMLInputElement)[0]
}

setUpTwoStepForm('otp-start', 'otp-verify', (asked) => callApi('post', '/api/membership/auth/otp/start', { body: asked }))
if (signUp)
  setUpTwoStepForm('sign-up', 'sign-up-verify', (asked, password) =>
    callApi('post', '/api/membership/auth/sign-up', { body: { ...asked, password } }),
  )

/** The address that a code is requested for. */
interface CodeRequest {
  readonly email: string
  readonly invite?: string
}

onSubmit(
  findElement('[data-form=password]', HTMLFormElement),
  async (typed) => {
    await callApi('post', '/api/membership/auth/sign-in', { body: { email: typed('email').trim(), password: typed('password') } })
    continueToNext()
  },
  { invalid_credentials: { field: 'password', text: texts.wrongPassword } },
)

for (const toggle of findElements('[data-show-password]', HTMLButtonElement)) {
  const field = findElement(`#${toggle.getAttribute('aria-controls')}`, HTMLInputElement)
  toggle.addEventListener('click', () => {
    const isShown = field.type === 'text'
    field.type = isShown ? 'password' : 'text'
    toggle.setAttribute('aria-pressed', String(!isShown))
    toggle.textContent = isShown ? texts.showPassword : texts.hidePassword
    field.focus()
  })
}

findElement('[data-forgotten]', HTMLButtonElement).addEventListener('click', () => {
  const [byCode] = tabs
  if (byCode !== undefined) selectTab(byCode)
  findVisibleEmailField()?.focus()
})

/** The return path is stored for a magic link only; after sign-in it is cleared, so that a later link does not lead there. */
function continueToNext(): void {
  takeReturnPath()
  location.assign(next)
}

interface SentResponse {
  readonly resend_after: number
  /** The mail server cannot be reached at the moment. */
  readonly delayed: boolean
}

/** A form that has a code sent, and the one the code goes into. */
function setUpTwoStepForm(
  firstName: string,
  secondName: string,
  send: (codeRequest: CodeRequest, password: string) => Promise<SentResponse>,
): void {
  const first = findElement(`[data-form=${firstName}]`, HTMLFormElement)
  const second = findElement(`[data-form=${secondName}]`, HTMLFormElement)
  const again = findElement('[data-again]', HTMLButtonElement, second)
  const code = findElement('[name=code]', HTMLInputElement, second)
  let asked: CodeRequest = { email: '' }
  let waiting: ReturnType<typeof setInterval> | undefined

  const stored = loadStep(firstName)
  if (stored !== null) {
    asked = stored.asked
    const panel = first.closest('[role=tabpanel]')
    const tab = tabs.find((each) => each.getAttribute('aria-controls') === panel?.id)
    if (tab !== undefined) selectTab(tab)
    showCodeStep((stored.resendAt - Date.now()) / 1000)
  }

  onSubmit(first, async (typed) => {
    const invite = typed('invite').trim()
    asked = { email: typed('email').trim(), ...(invite === '' ? {} : { invite }) }
    const { resend_after: wait, delayed } = await send(asked, typed('password'))
    saveReturnPath(next)
    saveStep({ form: firstName, asked, resendAt: Date.now() + wait * 1000, expiresAt: Date.now() + codeLifetimeMs })
    showCodeStep(wait, delayed)
  })

  function showCodeStep(wait: number, isDelayed = false): void {
    const email = createElement('strong', {}, asked.email)
    findElement('[data-sent]', HTMLElement, second).replaceChildren(
      ...insertNode(isDelayed ? texts.codeDelayed : texts.codeSent, '{email}', email),
    )
    first.hidden = true
    second.hidden = false
    code.focus()
    startResendCountdown(wait)
  }

  function startResendCountdown(seconds: number): void {
    clearInterval(waiting)
    const until = Date.now() + seconds * 1000
    const tick = () => {
      const left = Math.ceil((until - Date.now()) / 1000)
      again.disabled = left > 0
      again.textContent = left > 0 ? interpolate(texts.againIn, { seconds: left }) : texts.again
      if (left <= 0) clearInterval(waiting)
    }
    tick()
    waiting = setInterval(tick, 1000)
  }

  again.addEventListener('click', () => {
    forgetStep()
    second.hidden = true
    first.hidden = false
    first.requestSubmit()
  })

  findElement('[data-back]', HTMLElement, second).addEventListener('click', () => {
    clearInterval(waiting)
    forgetStep()
    second.hidden = true
    first.hidden = false
    findElement('[name=email]', HTMLElement, first).focus()
  })

  parseOnPaste(code, parseEmailCode)
  code.addEventListener('input', () => {
    if (/^\d{6}$/.test(parseEmailCode(code.value))) second.requestSubmit()
  })
  onSubmit(
    second,
    async (typed) => {
      const typedCode = parseEmailCode(typed('code'))
      // Nothing else can be right, and each code that is sent counts as an attempt.
      if (!/^\d{6}$/.test(typedCode)) return showFieldError(code, texts.codeDigits)
      await callApi('post', '/api/membership/auth/otp/verify', { body: { ...asked, code: typedCode } })
      forgetStep()
      continueToNext()
    },
    { invalid_credentials: { field: 'code', text: texts.wrongCode } },
  )
}

/** The step in which a code is awaited. It is kept for this tab, so that a reload does not lose the field for a code that was sent. */
interface StoredStep {
  readonly form: string
  readonly asked: CodeRequest
  /** Unix milliseconds. */
  readonly resendAt: number
  readonly expiresAt: number
}

function saveStep(step: StoredStep): void {
  try {
    sessionStorage.setItem(stepKey, JSON.stringify(step))
  } catch {
    // Without storage the step lasts until the page is left.
  }
}

function loadStep(form: string): StoredStep | null {
  try {
    const step = JSON.parse(sessionStorage.getItem(stepKey) ?? 'null') as StoredStep | null
    return step?.form === form && step.expiresAt > Date.now() && typeof step.asked.email === 'string' ? step : null
  } catch {
    return null
  }
}

function forgetStep(): void {
  try {
    sessionStorage.removeItem(stepKey)
  } catch {
    // Nothing was stored.
  }
}
