/** What the server told this page, and the few things every page's script needs: elements, texts, calls, messages. */

const block = document.getElementById('page-data')

/** @type {{ language: 'en' | 'zh', texts: Record<string, any>, [name: string]: any }} */
export const page = JSON.parse(block?.textContent ?? '{}')

export const texts = page.texts
const locale = page.language === 'zh' ? 'zh-CN' : 'en-US'

/** `{name}` in a text, filled. */
export function fill(text, values) {
  return text.replaceAll(/\{(\w+)\}/g, (whole, name) => (name in values ? String(values[name]) : whole))
}

/** The one element a page surely has; a page without it has lost touch with its script. */
export function find(selector, within = document) {
  const found = within.querySelector(selector)
  if (found === null) throw new Error(`The page has no ${selector}.`)
  return found
}

/**
 * An element: attributes by name (`onclick` and the like are listeners, `class` is a class), then children. Text stays text, always.
 */
export function element(name, attributes = {}, ...children) {
  return furnish(document.createElement(name), attributes, children)
}

export function drawing(name, attributes = {}, ...children) {
  return furnish(document.createElementNS('http://www.w3.org/2000/svg', name), attributes, children)
}

function furnish(node, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue
    if (key.startsWith('on')) node.addEventListener(key.slice(2), value)
    else node.setAttribute(key, value === true ? '' : String(value))
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false))
  return node
}

/** A failure as the service told it; `status` 0 where nothing was heard at all. */
export class Failure extends Error {
  constructor(status, envelope, retryAfter, resetsAt = null) {
    super(envelope === null ? texts.common.offline : page.language === 'zh' ? envelope.messageZh : envelope.message)
    this.status = status
    this.envelope = envelope
    this.retryAfter = retryAfter
    /** When used-up quota comes back, in milliseconds; null where that is not what is missing. */
    this.resetsAt = resetsAt
  }

  get code() {
    return this.envelope?.code ?? null
  }

  /** `Ref: <requestId> · <code> · stage=<stage> · HTTP <status> · up=<upstream_status>`; null where nothing was heard. */
  get reference() {
    if (this.envelope === null) return null
    const { requestId, code, stage, debug } = this.envelope
    const up = debug?.upstreamStatus === undefined ? '' : ` · up=${debug.upstreamStatus}`
    return `Ref: ${requestId} · ${code} · stage=${stage} · HTTP ${this.status}${up}`
  }
}

export function isEnvelope(value) {
  return typeof value === 'object' && value !== null && value.ok === false && typeof value.code === 'string'
}

/** Asks our own API. @throws {Failure} */
export async function call(method, path, body) {
  let response
  try {
    response = await fetch(path, {
      method,
      headers: method === 'GET' ? {} : { 'content-type': 'application/json' },
      ...(method === 'GET' ? {} : { body: JSON.stringify(body ?? {}) }),
    })
  } catch {
    throw new Failure(0, null, null)
  }
  const value = await response.json().catch(() => null)
  if (response.ok && value !== null) return value
  throw failureOf(response, value)
}

export function failureOf(response, value) {
  const retryAfter = Number(response.headers.get('retry-after')) || null
  const reset = [...response.headers].find(([name]) => name.endsWith('-quota-reset'))?.[1]
  return new Failure(
    response.status,
    isEnvelope(value) ? value : null,
    retryAfter,
    reset === undefined ? null : Number(reset) * 1000,
  )
}

export function membership(method, path, body) {
  return call(method, `/api/membership/${path}`, body)
}

/** A failure, shown: what happened, what to do, and the reference to quote. */
export function failureNotice(failure) {
  if (!(failure instanceof Failure)) throw failure
  const { envelope, reference } = failure
  const steps = (envelope?.actions ?? []).map((action) => step(action, failure)).filter((item) => item !== null)
  return element(
    'div',
    { class: 'notice bad', role: 'alert' },
    element('p', {}, failure.message),
    steps.length > 0 && element('p', { class: 'next-steps' }, ...steps.flatMap((item) => [item, ' '])),
    reference !== null && element('code', { class: 'reference' }, reference),
  )
}

const wayOut = { sign_in: '/sign-in', upgrade_plan: '/#plans', use_boost: '/account#title-boosts' }

function step(action, { retryAfter, resetsAt }) {
  // Who is signing in is at the right step already: a link would lead away from the code that was sent.
  if (action === 'sign_in' && location.pathname === '/sign-in') return null
  const words = texts.common.whatNext[action]
  if (words === undefined) return null
  if (action === 'retry_later' && resetsAt !== null)
    return element('span', {}, ...around(texts.common.waitUntil, moment(new Date(resetsAt).toISOString())))
  if (action === 'retry_later' && retryAfter !== null)
    return document.createTextNode(fill(texts.common.waitSeconds, { seconds: retryAfter }))
  const href = wayOut[action]
  if (href === undefined) return document.createTextNode(words)
  const next = action === 'sign_in' ? `?next=${encodeURIComponent(location.pathname)}` : ''
  return element('a', { href: href + next }, words)
}

/** A text with a node in place of its one blank. */
function around(text, node) {
  const [before, after = ''] = text.split('{when}')
  return [before, node, after]
}

export function goodNotice(text) {
  return element('p', { class: 'notice', role: 'status' }, text)
}

/**
 * Sends a form as JSON by `send(fields)`. While it runs its button rests; a failure is shown in the form's own place for outcomes.
 */
export function onSubmit(form, send) {
  const outcome = form.querySelector('[data-outcome]') ?? form.parentElement.querySelector('[data-outcome]')
  form.addEventListener('submit', async (event) => {
    event.preventDefault()
    if (!form.reportValidity()) return
    const buttons = form.querySelectorAll('button:not([type=button])')
    outcome?.replaceChildren()
    for (const button of buttons) button.disabled = true
    form.setAttribute('aria-busy', 'true')
    try {
      await send(Object.fromEntries(new FormData(form)), outcome)
    } catch (failure) {
      outcome?.replaceChildren(failureNotice(failure))
    } finally {
      form.removeAttribute('aria-busy')
      for (const button of buttons) button.disabled = false
    }
  })
}

const wayOnKey = 'way-on'

/** Where to go after signing in, for the page that a letter's link opens in another tab. */
export function keepWayOn(path) {
  localStorage.setItem(wayOnKey, path)
}

export function takeWayOn() {
  const path = localStorage.getItem(wayOnKey)
  localStorage.removeItem(wayOnKey)
  return path ?? '/account'
}

/** Fills a card that shows something alive. */
export async function show(name, load) {
  const card = find(`[data-live="${name}"]`)
  const content = find('[data-content]', card)
  try {
    content.replaceChildren(...[await load()].flat())
  } catch (failure) {
    content.replaceChildren(failureNotice(failure))
  } finally {
    card.removeAttribute('aria-busy')
  }
}

const number = new Intl.NumberFormat(locale)
const instant = new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'short' })
const date = new Intl.DateTimeFormat(locale, { dateStyle: 'medium' })
const relative = new Intl.RelativeTimeFormat(locale, { numeric: 'auto' })

export function figure(value) {
  return number.format(value)
}

/** A moment as the reader's clock and calendar have it. */
export function moment(value) {
  return element('time', { datetime: value, class: 'nowrap' }, instant.format(new Date(value)))
}

export function day(value) {
  return element('time', { datetime: value, class: 'nowrap' }, date.format(new Date(value)))
}

/** `in 3 hours`, `2 days ago`. */
export function fromNow(value) {
  const seconds = (new Date(value).getTime() - Date.now()) / 1000
  const size = Math.abs(seconds)
  if (size < 3600) return relative.format(Math.round(seconds / 60), 'minute')
  if (size < 86_400) return relative.format(Math.round(seconds / 3600), 'hour')
  return relative.format(Math.round(seconds / 86_400), 'day')
}

/**
 * A table; each cell is text, an element, or `{ content, class }`. On a phone each row becomes a card of labelled lines; the roles are
 * written out because browsers forget them where a table is not laid out as one.
 */
export function table(label, head, rows) {
  const titles = head.map((title) => (typeof title === 'string' ? { content: title } : title))
  return element(
    'div',
    { class: 'table-box', tabindex: '0', role: 'region', 'aria-label': label },
    element(
      'table',
      { class: 'stacking', role: 'table' },
      element('thead', { role: 'rowgroup' }, element('tr', { role: 'row' }, ...titles.map(headCell))),
      element(
        'tbody',
        { role: 'rowgroup' },
        ...rows.map((cells) =>
          element('tr', { role: 'row' }, ...cells.map((content, column) => cell(content, column, titles[column]))),
        ),
      ),
    ),
  )
}

function headCell({ content, class: look, hidden = false }) {
  return element(
    'th',
    { scope: 'col', role: 'columnheader', class: look },
    element('span', { class: hidden ? 'unseen' : null }, content),
  )
}

function cell(given, column, title) {
  const rich = typeof given === 'object' && given !== null && 'content' in given && !(given instanceof Node)
  const { content, class: look } = rich ? given : { content: given, class: null }
  const label = title.hidden === true ? null : title.content
  // The content is one box, so that on a phone a line has two sides: its label and this.
  const box = element('span', { class: 'cell' }, content)
  return column === 0
    ? element('th', { scope: 'row', role: 'rowheader', class: look }, box)
    : element('td', { role: 'cell', class: look, 'data-label': label }, box)
}

/** Code that can be copied, as the server's pages have it. */
export function codeBlock(name, code) {
  return element(
    'div',
    { class: 'code-block' },
    element(
      'div',
      { class: 'code-head' },
      element('span', {}, name),
      element(
        'button',
        { type: 'button', 'data-copy': '', 'aria-label': fill(texts.common.copyLabel, { what: ` ${name}` }) },
        texts.common.copy,
      ),
    ),
    element('pre', { tabindex: '0', role: 'region', 'aria-label': name }, element('code', {}, code)),
  )
}
