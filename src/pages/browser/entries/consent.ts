/** The consent page of an OAuth client: shows the client and the redirect target, then approve or deny. Opening the page approves nothing. */
import './site.ts'
import { formatRelativeTime } from '../format.ts'
import { createElement, interpolate, findElement, getProps, getTexts } from '../page.ts'
import { callApi } from '../api-client.ts'
import { renderFailureNotice } from '../components/request-state.ts'
import type { Fact } from '../components/approval-form.ts'
import { renderFactList, renderOwnWords, showDecision, renderApprovalButtons } from '../components/approval-form.ts'
import type { ConsentRequest } from '../api-types.ts'

const texts = getTexts('consent')
const params = getProps('consent')
const outcome = findElement('.device > [data-outcome]', HTMLElement)
const container = findElement('[data-request]', HTMLElement)

callApi('get', '/connect/{uid}/request', { params }).then(showRequest, (failure: unknown) =>
  outcome.replaceChildren(renderFailureNotice(failure)),
)

function showRequest({ app, redirect, account, expires_in: expiresIn }: ConsentRequest): void {
  const title = createElement('h2', { tabindex: '-1' }, texts.askTitle)
  const facts: Fact[] = [
    [
      texts.redirect,
      createElement(
        'span',
        {},
        createElement('code', {}, redirect.place),
        redirect.local && createElement('span', { class: 'sub' }, ` · ${texts.local}`),
      ),
    ],
    [texts.account, account],
  ]
  const verdict = renderApprovalButtons(container, texts, async (decision) => {
    const { location: next } = await callApi('post', '/connect/{uid}', { params, body: { decision, account } })
    // The way back may end in another program, which leaves this page where it is.
    showDecision(container, texts, decision, createElement('p', {}, createElement('a', { href: next }, texts.back)))
    location.assign(next)
  })
  outcome.replaceChildren()
  container.replaceChildren(
    title,
    createElement('p', { class: 'sub' }, texts.askLead),
    renderOwnWords(texts.ownWords, [
      [texts.program, app.name],
      [texts.home, app.address],
    ]),
    renderFactList(facts),
    createElement('p', { class: 'notice warn' }, redirect.local ? texts.localWarning : texts.warning),
    verdict,
    createElement(
      'p',
      { class: 'fine' },
      interpolate(texts.expires, { when: formatRelativeTime(Date.now() + expiresIn * 1000) }),
    ),
  )
  title.focus()
}
