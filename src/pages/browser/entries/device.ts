/** The approval page of a device: shows the device, compares the code, then approve or deny. Opening the page approves nothing. */
import './site.ts'
import { parseDeviceCode, parseOnPaste } from '../components/pasted-code.ts'
import { formatPastTime, formatRelativeTime, renderAddress, renderTimestamp } from '../format.ts'
import { createElement, interpolate, findElement, getProps, getTexts } from '../page.ts'
import { callApi } from '../api-client.ts'
import { renderFailureNotice, onSubmit } from '../components/request-state.ts'
import type { Fact } from '../components/approval-form.ts'
import { renderFactList, renderOwnWords, showDecision, renderApprovalButtons } from '../components/approval-form.ts'
import type { PendingDevice } from '../api-types.ts'

const texts = getTexts('device')
const { code: codeOfAddress, account } = getProps('device')
const form = findElement('[data-form=lookup]', HTMLFormElement)
const outcome = findElement('.device > [data-outcome]', HTMLElement)
const container = findElement('[data-request]', HTMLElement)

parseOnPaste(findElement('[name=user_code]', HTMLInputElement, form), parseDeviceCode)
onSubmit(form, (typed) => lookUp(parseDeviceCode(typed('user_code'))))

if (codeOfAddress !== '') {
  lookUp(codeOfAddress).catch((failure: unknown) => {
    form.hidden = false
    outcome.replaceChildren(renderFailureNotice(failure))
  })
}

async function lookUp(code: string): Promise<void> {
  const { device } = await callApi('post', '/api/membership/auth/device/lookup', { body: { user_code: code } })
  outcome.replaceChildren()
  form.hidden = true
  showDevice(device)
}

function showDevice(device: PendingDevice): void {
  const { user_code: userCode, same_network: sameNetwork, expires_in: expiresIn } = device
  const program = [device.client, device.client_version].filter(Boolean).join(' ')
  const title = createElement('h2', { tabindex: '-1' }, texts.compareTitle)
  const facts: Fact[] = [
    [
      texts.address,
      createElement(
        'span',
        {},
        renderAddress(device.address),
        sameNetwork && createElement('span', { class: 'sub' }, ` · ${texts.sameNetwork}`),
      ),
    ],
    [texts.started, createElement('span', {}, renderTimestamp(device.started_at), ` · ${formatPastTime(device.started_at)}`)],
    [texts.account, account],
  ]
  const verdict = renderApprovalButtons(container, texts, async (decision) => {
    await callApi('post', `/api/membership/auth/device/${decision}`, { body: { user_code: userCode } })
    showDecision(container, texts, decision)
  })
  container.replaceChildren(
    title,
    createElement('p', { class: 'sub' }, texts.compareLead),
    createElement('p', { class: 'user-code', 'aria-label': [...userCode].join(' ') }, userCode),
    renderOwnWords(texts.ownWords, [
      [texts.client, program],
      [texts.host, device.hostname ?? texts.unknown],
    ]),
    renderFactList(facts),
    ...(sameNetwork ? [] : [createElement('p', { class: 'notice bad' }, texts.otherNetwork)]),
    createElement('p', { class: 'notice warn' }, texts.warning),
    verdict,
    createElement(
      'p',
      { class: 'fine' },
      interpolate(texts.expires, { when: formatRelativeTime(Date.now() + expiresIn * 1000) }),
    ),
  )
  title.focus()
}
