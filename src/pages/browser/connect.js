/** Deciding on a program: look at who asks and where the answer would go, then approve or deny. Nothing is approved by opening the page. */
import { call, element, failureNotice, fill, find, fromNow, page, texts } from './page.js'

const words = texts.connect
const outcome = find('.device > [data-outcome]')
const place = find('[data-request]')

call('GET', `${page.request}/request`).then(ask, (failure) => outcome.replaceChildren(failureNotice(failure)))

function ask(request) {
  const { app, redirect } = request
  const title = element('h2', { tabindex: '-1' }, fill(words.askTitle, { name: app.name }))
  const facts = [
    [words.program, element('span', {}, app.name, element('span', { class: 'sub' }, ` · ${words.nameNote}`))],
    ...(app.address === null ? [] : [[words.home, element('code', {}, app.address)]]),
    [
      words.redirect,
      element(
        'span',
        {},
        element('code', {}, redirect.place),
        redirect.local && element('span', { class: 'sub' }, ` · ${words.local}`),
      ),
    ],
    [words.account, request.account],
  ]
  const decide = (decision) => async (event) => {
    for (const button of place.querySelectorAll('button')) button.disabled = true
    try {
      const { location: next } = await call('POST', page.request, { decision })
      finish(decision, next)
    } catch (failure) {
      event.target.closest('.verdict').after(failureNotice(failure))
      for (const button of place.querySelectorAll('button')) button.disabled = false
    }
  }
  outcome.replaceChildren()
  place.replaceChildren(
    title,
    element('p', { class: 'sub' }, words.askLead),
    element('dl', { class: 'facts' }, ...facts.flatMap(([name, value]) => [element('dt', {}, name), element('dd', {}, value)])),
    element('p', { class: 'notice warn' }, redirect.local ? words.localWarning : words.warning),
    element(
      'div',
      { class: 'verdict' },
      element('button', { class: 'button large', type: 'button', 'data-approve': '', onclick: decide('approve') }, words.approve),
      element('button', { class: 'button danger large', type: 'button', 'data-deny': '', onclick: decide('deny') }, words.deny),
    ),
    element('p', { class: 'fine' }, fill(words.expires, { when: fromNow(Date.now() + request.expires_in * 1000) })),
  )
  title.focus()
}

/** The way back may end in another program, which leaves this page where it is. */
function finish(decision, next) {
  const approved = decision === 'approve'
  const title = element('h2', { tabindex: '-1' }, approved ? words.approvedTitle : words.deniedTitle)
  place.replaceChildren(
    element('div', { class: `verdict-mark ${approved ? 'good' : 'bad'}`, 'aria-hidden': 'true' }, approved ? '✓' : '✕'),
    title,
    element('p', {}, approved ? words.approved : words.denied),
    element('p', {}, element('a', { href: next }, words.back)),
  )
  title.focus()
  location.assign(next)
}
