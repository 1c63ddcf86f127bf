/** Approving a device: look at who asks, compare the code, then decide. Nothing is approved by opening the page. */
import { deviceCode, readPasted } from './codes.ts'
import { fromNow, moment } from './figures.ts'
import { element, fill, find, told, words } from './page.ts'
import { call } from './service.ts'
import { failureNotice, onSubmit } from './show.ts'
import type { Fact } from './verdict.ts'
import { factList, showVerdict, verdictButtons } from './verdict.ts'
import type { AskingDevice } from './wire.ts'

const texts = words('device')
const { code: codeOfAddress, account } = told('device')
const form = find('[data-form=lookup]', HTMLFormElement)
const outcome = find('.device > [data-outcome]', HTMLElement)
const place = find('[data-request]', HTMLElement)

readPasted(find('[name=user_code]', HTMLInputElement, form), deviceCode)
onSubmit(form, (typed) => look(deviceCode(typed('user_code'))))

if (codeOfAddress !== '') {
  look(codeOfAddress).catch((failure: unknown) => {
    form.hidden = false
    outcome.replaceChildren(failureNotice(failure))
  })
}

async function look(code: string): Promise<void> {
  const { device } = await call('post', '/api/membership/auth/device/lookup', { body: { user_code: code } })
  outcome.replaceChildren()
  form.hidden = true
  ask(device)
}

function ask(device: AskingDevice): void {
  const { user_code: userCode, same_network: sameNetwork, expires_in: expiresIn } = device
  const program = [device.client, device.client_version].filter(Boolean).join(' ')
  const title = element('h2', { tabindex: '-1' }, texts.compareTitle)
  const facts: Fact[] = [
    [texts.client, element('code', {}, program)],
    [texts.host, device.hostname ?? texts.unknown],
    [
      texts.address,
      element(
        'span',
        {},
        element('code', {}, device.address),
        sameNetwork && element('span', { class: 'sub' }, ` · ${texts.sameNetwork}`),
      ),
    ],
    [texts.started, element('span', {}, moment(device.started_at), ` · ${fromNow(device.started_at)}`)],
    [texts.account, account],
  ]
  const verdict = verdictButtons(place, texts, async (decision) => {
    await call('post', `/api/membership/auth/device/${decision}`, { body: { user_code: userCode } })
    showVerdict(place, texts, decision)
  })
  place.replaceChildren(
    title,
    element('p', { class: 'sub' }, texts.compareLead),
    element('p', { class: 'user-code', 'aria-label': [...userCode].join(' ') }, userCode),
    factList(facts),
    ...(sameNetwork ? [] : [element('p', { class: 'notice bad' }, texts.otherNetwork)]),
    element('p', { class: 'notice warn' }, texts.warning),
    verdict,
    element('p', { class: 'fine' }, fill(texts.expires, { when: fromNow(Date.now() + expiresIn * 1000) })),
  )
  title.focus()
}
