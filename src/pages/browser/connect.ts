/** Deciding on a program: look at who asks and where the answer would go, then approve or deny. Nothing is approved by opening the page. */
import { fromNow } from './figures.ts'
import { element, fill, find, told, words } from './page.ts'
import { call } from './service.ts'
import { failureNotice } from './show.ts'
import type { Fact } from './verdict.ts'
import { factList, showVerdict, verdictButtons } from './verdict.ts'
import type { ConnectRequest } from './wire.ts'

const texts = words('connect')
const params = told('connect')
const outcome = find('.device > [data-outcome]', HTMLElement)
const place = find('[data-request]', HTMLElement)

call('get', '/connect/{uid}/request', { params }).then(ask, (failure: unknown) => outcome.replaceChildren(failureNotice(failure)))

function ask({ app, redirect, account, expires_in: expiresIn }: ConnectRequest): void {
  const title = element('h2', { tabindex: '-1' }, fill(texts.askTitle, { name: app.name }))
  const facts: Fact[] = [
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
  const verdict = verdictButtons(place, texts, async (decision) => {
    const { location: next } = await call('post', '/connect/{uid}', { params, body: { decision, account } })
    // The way back may end in another program, which leaves this page where it is.
    showVerdict(place, texts, decision, element('p', {}, element('a', { href: next }, texts.back)))
    location.assign(next)
  })
  outcome.replaceChildren()
  place.replaceChildren(
    title,
    element('p', { class: 'sub' }, texts.askLead),
    factList(facts),
    element('p', { class: 'notice warn' }, redirect.local ? texts.localWarning : texts.warning),
    verdict,
    element('p', { class: 'fine' }, fill(texts.expires, { when: fromNow(Date.now() + expiresIn * 1000) })),
  )
  title.focus()
}
