/** Deciding on a program: look at who asks and where the answer would go, then approve or deny. Nothing is approved by opening the page. */
import { fromNow } from './figures.ts'
import type { Child } from './page.ts'
import { element, fill, find, findAll, told, words } from './page.ts'
import { call } from './service.ts'
import { failureNotice } from './show.ts'
import type { ConnectRequest, Decision } from './wire.ts'

const texts = words('connect')
const params = told('connect')
const outcome = find('.device > [data-outcome]', HTMLElement)
const place = find('[data-request]', HTMLElement)

call('get', '/connect/{uid}/request', { params }).then(ask, (failure: unknown) => outcome.replaceChildren(failureNotice(failure)))

function ask({ app, redirect, account, expires_in: expiresIn }: ConnectRequest): void {
  const title = element('h2', { tabindex: '-1' }, fill(texts.askTitle, { name: app.name }))
  const facts: [string, Child][] = [
    [texts.program, element('span', {}, app.name, element('span', { class: 'sub' }, ` · ${texts.nameNote}`))],
    [texts.home, app.address !== null && element('code', {}, app.address)],
    [
      texts.redirect,
      element(
        'span',
        {},
        element('code', {}, redirect.place),
        redirect.local && element('span', { class: 'sub' }, ` · ${texts.local}`),
      ),
    ],
    [texts.account, account],
  ]
  const verdict = element(
    'div',
    { class: 'verdict' },
    element(
      'button',
      { class: 'button large', type: 'button', 'data-approve': '', onclick: () => decide('approve') },
      texts.approve,
    ),
    element(
      'button',
      { class: 'button danger large', type: 'button', 'data-deny': '', onclick: () => decide('deny') },
      texts.deny,
    ),
  )
  const decide = async (decision: Decision) => {
    const buttons = findAll('button', HTMLButtonElement, place)
    for (const button of buttons) button.disabled = true
    try {
      finish(decision, (await call('post', '/connect/{uid}', { params, body: { decision } })).location)
    } catch (failure) {
      verdict.after(failureNotice(failure))
      for (const button of buttons) button.disabled = false
    }
  }
  outcome.replaceChildren()
  place.replaceChildren(
    title,
    element('p', { class: 'sub' }, texts.askLead),
    element(
      'dl',
      { class: 'facts' },
      ...facts
        .filter(([, value]) => value !== false)
        .flatMap(([name, value]) => [element('dt', {}, name), element('dd', {}, value)]),
    ),
    element('p', { class: 'notice warn' }, redirect.local ? texts.localWarning : texts.warning),
    verdict,
    element('p', { class: 'fine' }, fill(texts.expires, { when: fromNow(Date.now() + expiresIn * 1000) })),
  )
  title.focus()
}

/** The way back may end in another program, which leaves this page where it is. */
function finish(decision: Decision, next: string): void {
  const approved = decision === 'approve'
  const title = element('h2', { tabindex: '-1' }, approved ? texts.approvedTitle : texts.deniedTitle)
  place.replaceChildren(
    element('div', { class: `verdict-mark ${approved ? 'good' : 'bad'}`, 'aria-hidden': 'true' }, approved ? '✓' : '✕'),
    title,
    element('p', {}, approved ? texts.approved : texts.denied),
    element('p', {}, element('a', { href: next }, texts.back)),
  )
  title.focus()
  location.assign(next)
}
