/** Approving a device: look at who asks, compare the code, then decide. Nothing is approved by opening the page. */
import { deviceCode, readPasted } from './codes.js'
import { element, failureNotice, fill, find, fromNow, membership, moment, onSubmit, page, texts } from './page.js'

const words = texts.device
const form = find('[data-form=lookup]')
const outcome = find('.device > [data-outcome]')
const place = find('[data-request]')

readPasted(find('[name=user_code]', form), deviceCode)
onSubmit(form, async ({ user_code: code }) => {
  await look(deviceCode(code))
})

if (page.code !== '') {
  look(page.code).catch((failure) => {
    form.hidden = false
    outcome.replaceChildren(failureNotice(failure))
  })
}

async function look(code) {
  const { device } = await membership('POST', 'auth/device/lookup', { user_code: code })
  outcome.replaceChildren()
  form.hidden = true
  ask(device)
}

function ask(device) {
  const program = [device.client, device.client_version].filter(Boolean).join(' ')
  const title = element('h2', { tabindex: '-1' }, words.compareTitle)
  const facts = [
    [words.client, element('code', {}, program)],
    [words.host, device.hostname ?? words.unknown],
    [
      words.address,
      element(
        'span',
        {},
        element('code', {}, device.address),
        device.same_network && element('span', { class: 'sub' }, ` · ${words.sameNetwork}`),
      ),
    ],
    [words.started, element('span', {}, moment(device.started_at), ` · ${fromNow(device.started_at)}`)],
    [words.account, page.account],
  ]
  const decide = (verdict) => async (event) => {
    for (const button of place.querySelectorAll('button')) button.disabled = true
    try {
      await membership('POST', `auth/device/${verdict}`, { user_code: device.user_code })
      finish(verdict)
    } catch (failure) {
      event.target.closest('.verdict').after(failureNotice(failure))
      for (const button of place.querySelectorAll('button')) button.disabled = false
    }
  }
  place.replaceChildren(
    title,
    element('p', { class: 'sub' }, words.compareLead),
    element('p', { class: 'user-code', 'aria-label': [...device.user_code].join(' ') }, device.user_code),
    element('dl', { class: 'facts' }, ...facts.flatMap(([name, value]) => [element('dt', {}, name), element('dd', {}, value)])),
    ...(device.same_network === false ? [element('p', { class: 'notice bad' }, words.otherNetwork)] : []),
    element('p', { class: 'notice warn' }, words.warning),
    element(
      'div',
      { class: 'verdict' },
      element('button', { class: 'button large', type: 'button', 'data-approve': '', onclick: decide('approve') }, words.approve),
      element('button', { class: 'button danger large', type: 'button', 'data-deny': '', onclick: decide('deny') }, words.deny),
    ),
    ...(device.expires_in === undefined
      ? []
      : [element('p', { class: 'fine' }, fill(words.expires, { when: fromNow(Date.now() + device.expires_in * 1000) }))]),
  )
  title.focus()
}

function finish(verdict) {
  const approved = verdict === 'approve'
  const title = element('h2', { tabindex: '-1' }, approved ? words.approvedTitle : words.deniedTitle)
  place.replaceChildren(
    element('div', { class: `verdict-mark ${approved ? 'good' : 'bad'}`, 'aria-hidden': 'true' }, approved ? '✓' : '✕'),
    title,
    element('p', {}, approved ? words.approved : words.denied),
  )
  title.focus()
}
