/** The first steps of a new account: a key, the first request watched as it arrives, the editor, and the check-in. */
import { callApi } from '../api-client.ts'
import type { Key, Turn } from '../api-types.ts'
import { formatCount, formatNumber } from '../format.ts'
import { createCodeBlock, createElement, findElement, getProps, getTexts, interpolate } from '../page.ts'
import { renderFailureNotice } from './request-state.ts'

const texts = getTexts('account')
const { steps } = texts
const { base, model } = getProps('account')
const watchEveryMs = 2000
/** A page that was left open does not ask for ever. */
const watchForMs = 30 * 60_000

/** `onFirstTurn` runs when the first request has ended. */
export function showFirstSteps(keys: readonly Key[], onFirstTurn: () => Promise<void>): void {
  const card = findElement('[data-start]', HTMLElement)
  const live = keys.find(({ revoked_at: revokedAt }) => revokedAt === null)
  const keyStep = createStep(steps.key, live === undefined ? [steps.keyText] : [interpolate(steps.keyDone, { name: live.name })])
  const requestStep = createStep(steps.request, [createElement('span', { role: 'status', 'data-watch': '' }, steps.waiting)])
  const checkinStep = createStep(steps.checkin, [steps.checkinText])
  if (live === undefined) keyStep.body.append(createButton(steps.makeKey, (button) => makeKey(button, keyStep, requestStep)))
  else {
    keyStep.finish()
    requestStep.body.append(createCodeBlock('curl', createRequest('$YOUR_KEY')))
  }
  checkinStep.body.append(createButton(texts.checkinButton, (button) => checkIn(button, checkinStep)))
  card.replaceChildren(
    createElement('div', { class: 'card-head' }, createElement('h2', { id: 'title-start' }, steps.title)),
    createElement(
      'ol',
      { class: 'steps', role: 'list' },
      keyStep.item,
      requestStep.item,
      createStep(steps.editor, [
        steps.editorText,
        ' ',
        createElement('a', { href: '/keys' }, texts.rail.keys),
        ' · ',
        createElement('a', { href: '/docs' }, steps.docs),
      ]).item,
      checkinStep.item,
    ),
  )
  card.hidden = false
  document.body.classList.add('new-account')
  void watchFirstTurn(requestStep, onFirstTurn)
}

interface Step {
  readonly item: HTMLElement
  readonly body: HTMLElement
  readonly finish: () => void
}

function createStep(title: string, content: readonly (Node | string)[]): Step {
  const body = createElement('div', { class: 'step-body' }, createElement('p', {}, ...content))
  const state = createElement('span', { class: 'unseen' })
  const item = createElement('li', { class: 'step' }, createElement('h3', {}, title, ' ', state), body)
  return {
    item,
    body,
    finish: () => {
      item.classList.add('done')
      state.textContent = steps.done
    },
  }
}

function createButton(label: string, run: (button: HTMLButtonElement) => Promise<void>): HTMLButtonElement {
  const button: HTMLButtonElement = createElement(
    'button',
    {
      class: 'button small',
      type: 'button',
      onclick: async () => {
        button.disabled = true
        try {
          await run(button)
        } catch (failure) {
          button.disabled = false
          button.after(renderFailureNotice(failure))
        }
      },
    },
    label,
  )
  return button
}

async function makeKey(button: HTMLButtonElement, keyStep: Step, requestStep: Step): Promise<void> {
  const { token } = await callApi('post', '/api/membership/auth/api-keys', { body: { name: steps.keyName } })
  const shown = createCodeBlock(getTexts('keys').key, token)
  button.replaceWith(createElement('p', { class: 'sub' }, getTexts('keys').createdLead), shown)
  keyStep.finish()
  requestStep.body.append(createCodeBlock('curl', createRequest(token)))
  shown.querySelector('button')?.focus()
}

async function checkIn(button: HTMLButtonElement, step: Step): Promise<void> {
  const { pack } = await callApi('post', '/api/membership/boost', { body: { action: 'checkin' } })
  button.replaceWith(
    createElement('p', { role: 'status' }, interpolate(texts.granted, { credits: formatCount('credits', pack.granted) })),
  )
  step.finish()
}

function createRequest(key: string): string {
  return `curl ${base}/v1/chat/completions \\
  -H "Authorization: Bearer ${key}" \\
  -H "Content-Type: application/json" \\
  -d '{"model": "${model}", "messages": [{"role": "user", "content": "Hello"}]}'`
}

async function watchFirstTurn(step: Step, onFirstTurn: () => Promise<void>): Promise<void> {
  const status = findElement('[data-watch]', HTMLElement, step.item)
  const until = Date.now() + watchForMs
  while (Date.now() < until) {
    await new Promise((resolve) => setTimeout(resolve, watchEveryMs))
    if (document.hidden) continue
    // A request that fails here is asked again: what the page shows stays true.
    const turn = await callApi('get', '/api/membership/turns', { query: { limit: 1 } }).then(
      ({ data }) => data[0],
      () => undefined,
    )
    if (turn === undefined) continue
    status.textContent = describeTurn(turn)
    if (turn.state === 'held') continue
    step.finish()
    document.body.classList.remove('new-account')
    return onFirstTurn()
  }
  status.textContent = steps.stoppedWaiting
}

function describeTurn({ state, model: used, input_tokens: input, output_tokens: output, credits }: Turn): string {
  if (state === 'held') return interpolate(steps.running, { model: used })
  if (state !== 'settled') return steps.failed
  const amounts = { input: formatNumber(input), output: formatNumber(output), credits: formatCount('credits', credits) }
  return interpolate(steps.received, { model: used, ...amounts })
}
