/** The sign-in page, which is whole without it: six digits send themselves, a password can be shown, and an address is typed once. */
import './member.ts'
import { parseEmailCode } from '../../pasted-code.ts'
import { parseOnPaste } from '../components/parse-on-paste.ts'
import { readStored, writeStored } from '../device-storage.ts'
import { findElement, findElements, interpolate } from '../page.ts'

const emailKey = 'typed-email'
const emails = findElements('[name=email]:not([type=hidden])', HTMLInputElement)

for (const email of emails) email.value ||= readStored('sessionStorage', emailKey) ?? ''
writeStored('sessionStorage', emailKey, null)
for (const way of findElements('a[data-way]', HTMLAnchorElement))
  way.addEventListener('click', () => {
    for (const { value } of emails) writeStored('sessionStorage', emailKey, value)
  })

for (const code of findElements('input[name=code]', HTMLInputElement)) {
  parseOnPaste(code, parseEmailCode)
  code.addEventListener('input', () => {
    if (/^\d{6}$/.test(parseEmailCode(code.value))) code.form?.requestSubmit()
  })
}

for (const holder of findElements('[data-show-password]', HTMLElement)) {
  const toggle = findElement('button', HTMLButtonElement, holder)
  const field = findElement('[name=password]', HTMLInputElement)
  const labels = [toggle.textContent, toggle.dataset['pressedLabel'] ?? '']
  holder.hidden = false
  toggle.addEventListener('click', () => {
    const isShown = field.type === 'text'
    field.type = isShown ? 'password' : 'text'
    toggle.setAttribute('aria-pressed', String(!isShown))
    toggle.textContent = labels[isShown ? 0 : 1] ?? ''
    field.focus()
  })
}

for (const again of findElements('[data-wait]', HTMLButtonElement)) startCountdown(again)

function startCountdown(again: HTMLButtonElement): void {
  const { textContent: label } = again
  const { wait = '', waiting = '' } = again.dataset
  const until = Date.now() + Number(wait) * 1000
  const tick = (): void => {
    const seconds = Math.ceil((until - Date.now()) / 1000)
    again.disabled = seconds > 0
    again.textContent = seconds > 0 ? interpolate(waiting, { seconds }) : label
    if (seconds > 0) setTimeout(tick, 1000)
  }
  tick()
}
