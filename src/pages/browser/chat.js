/** The chat: one conversation, streamed over `/v1/chat/completions` with the cookie of this site. */
import { becomeLike } from './become-like.js'
import { Conversation } from './conversation.js'
import { eventsOf } from './event-stream.js'
import { nameCopyButtons, renderMarkdown, safeUrl } from './markdown.js'
import { element, Failure, failureNotice, failureOf, figure, fill, find, isEnvelope, page, texts } from './page.js'

const words = texts.chat
const conversation = new Conversation(page.account)
const scroll = find('[data-scroll]')
const list = find('[data-messages]')
const empty = find('[data-empty]')
const status = find('[data-status]')
const form = find('[data-composer]')
const input = find('#message')
const model = find('#model')
const sendButton = find('[data-send]')
const stopButton = find('[data-stop]')
const modelKey = `model:${page.account}`
/** A tab that is discarded says no farewell; at most this much of an answer is lost with it. */
const keepEveryMs = 1_000

/** The running turn's abort controller, null between turns. */
let running = null

/** Whether the reader is at the end, and so wants to see what comes; whoever scrolled up is left where they read. */
let following = true
scroll.addEventListener('scroll', () => {
  following = scroll.scrollHeight - scroll.scrollTop - scroll.clientHeight < 60
})
// A picture takes its place when it has come; loads do not bubble.
list.addEventListener('load', () => following && toEnd(), true)

nameCopyButtons(texts.common.copy)
if (page.models.some(({ id }) => id === localStorage.getItem(modelKey))) model.value = localStorage.getItem(modelKey)
model.addEventListener('change', () => localStorage.setItem(modelKey, model.value))
for (const message of conversation.messages) {
  const view = bubble(message)
  list.append(view.node)
  if (message.unfinished === 'left') view.end({ note: words.leftWhile })
  else if (message.unfinished !== undefined) view.fail(toFailure(message.unfinished))
}
settle()
// Whoever leaves in mid-answer finds as much of it again as had come: it was paid for. What the browser then breaks off is no failure.
let leaving = false
addEventListener('pagehide', () => {
  leaving = true
  conversation.save()
})
addEventListener('pageshow', () => {
  leaving = false
})

form.addEventListener('submit', (event) => {
  event.preventDefault()
  const text = input.value.trim()
  if (text === '' || running !== null) return
  input.value = ''
  grow()
  const message = conversation.add({ role: 'user', content: text })
  list.append(bubble(message).node)
  void answer()
})

input.addEventListener('input', grow)
input.addEventListener('keydown', (event) => {
  // While an input method composes (Chinese, Japanese …), Enter chooses a word.
  if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return
  event.preventDefault()
  form.requestSubmit()
})
document.addEventListener('keydown', (event) => {
  if (event.key === 'Escape') running?.abort()
})
stopButton.addEventListener('click', () => running?.abort())
find('[data-new]').addEventListener('click', () => {
  running?.abort()
  conversation.clear()
  list.replaceChildren()
  settle()
  input.focus()
})
for (const button of document.querySelectorAll('[data-suggestion]')) {
  button.addEventListener('click', () => {
    input.value = button.textContent.trim()
    form.requestSubmit()
  })
}

async function answer() {
  const chosen = page.models.find(({ id }) => id === model.value) ?? { id: model.value, name: model.value, capabilities: [] }
  const message = { role: 'assistant', content: '', reasoning: '', model: chosen.name, unfinished: 'left' }
  const view = bubble(message)
  conversation.add(message)
  const keeping = setInterval(() => conversation.save(), keepEveryMs)
  view.think()
  list.append(view.node)
  running = new AbortController()
  settle()
  toEnd()
  try {
    const finish = await stream(chosen, running.signal, (delta) => {
      message.content += delta.content
      message.reasoning += delta.reasoning
      view.update()
    })
    delete message.unfinished
    view.end(finish)
    status.textContent = words.finished
  } catch (thrown) {
    if (leaving) return
    const stopped = thrown instanceof DOMException && thrown.name === 'AbortError'
    if (stopped) {
      delete message.unfinished
      view.end({ note: words.stopped })
      status.textContent = words.stopped
    } else {
      const failure = thrown instanceof Failure ? thrown : brokenOff()
      message.unfinished = { status: failure.status, envelope: failure.envelope }
      view.fail(failure)
    }
  } finally {
    running = null
    clearInterval(keeping)
    // Stopped before its first word it is nothing. A conversation begun meanwhile has another list, and no part in this.
    if (message.content === '' && message.unfinished === undefined) conversation.remove(message)
    else conversation.save()
    settle()
  }
}

/** @throws {Failure} as the service told it, also in the middle of a stream */
async function stream({ id, capabilities }, signal, take) {
  const whole = capabilities.includes('search') && !capabilities.includes('chat')
  let response
  try {
    response = await fetch('/v1/chat/completions', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        model: id,
        messages: conversation.toRequest(asText),
        stream: !whole,
        ...(whole ? {} : { stream_options: { include_usage: true } }),
      }),
      signal,
    })
  } catch (error) {
    if (signal.aborted) throw error
    throw new Failure(0, null, null)
  }
  if (!response.ok) throw failureOf(response, await response.json().catch(() => null))
  if (!(response.headers.get('content-type') ?? '').startsWith('text/event-stream')) {
    const { choices, usage } = await response.json()
    take({ content: choices[0].message.content ?? '', reasoning: '' })
    return { reason: choices[0].finish_reason, usage }
  }
  const finish = { reason: null, usage: null }
  for await (const event of eventsOf(response)) {
    // After the first byte a failure can only come as an event; its status is the one its code has in the catalogue.
    if (isEnvelope(event)) throw new Failure(page.statuses[event.code] ?? response.status, event, null)
    const choice = event.choices?.[0]
    finish.usage = event.usage ?? finish.usage
    finish.reason = choice?.finish_reason ?? finish.reason
    const { content, reasoning_content: reasoning } = choice?.delta ?? {}
    if (content || reasoning) take({ content: content ?? '', reasoning: reasoning ?? '' })
  }
  if (finish.reason === null) throw brokenOff()
  return finish
}

function brokenOff() {
  return toFailure({ status: 0, envelope: null })
}

/** A failure as it was kept; where the service told none, the answer broke off. */
function toFailure({ status, envelope }) {
  const failure = new Failure(status, isEnvelope(envelope) ? envelope : null, null)
  if (failure.envelope === null) failure.message = words.broken
  return failure
}

/** One message on the page, and how it changes while it is written. */
function bubble(message) {
  const body = element('div', { class: 'prose' })
  const foot = element('p', { class: 'message-foot' })
  const fromMember = message.role === 'user'
  const name = element('p', { class: 'message-name' }, fromMember ? words.you : (message.model ?? ''))
  const node = element('li', { class: `message ${fromMember ? 'mine' : 'theirs'}` }, name, body, foot)
  let due = false

  const draw = () => {
    due = false
    // What has not changed stays as it is: an opened fold, a selection, a picture.
    becomeLike(body, element('div', {}, ...contentOf(message)))
    if (following) toEnd()
  }
  draw()
  if (!fromMember && message.content !== '') foot.replaceChildren(copyButton(message))

  return {
    node,
    think() {
      body.replaceChildren(
        element(
          'p',
          { class: 'thinking' },
          element('span', { class: 'unseen' }, words.thinking),
          ...[1, 2, 3].map(() => element('i')),
        ),
      )
    },
    update() {
      // Once a frame is as often as anybody can see.
      if (due) return
      due = true
      requestAnimationFrame(draw)
    },
    end({ reason = null, usage = null, note = null }) {
      const atEnd = following
      draw()
      const told = note ?? { length: words.cut, content_filter: words.filtered }[reason]
      foot.replaceChildren(
        ...[
          message.content !== '' && copyButton(message),
          usage !== null &&
            element(
              'span',
              {},
              fill(words.tokens, { input: figure(usage.prompt_tokens), output: figure(usage.completion_tokens) }),
            ),
          told !== undefined && element('span', { class: 'badge warn' }, told),
        ].filter(Boolean),
      )
      if (atEnd) toEnd()
    },
    fail(failure) {
      draw()
      foot.replaceChildren()
      const retry = element('button', { class: 'button quiet small', type: 'button' }, words.retry)
      const notice = failureNotice(failure)
      notice.append(retry)
      retry.addEventListener('click', () => {
        if (running !== null) return
        conversation.remove(message)
        node.remove()
        void answer()
      })
      foot.after(notice)
      if (following) toEnd()
    },
  }
}

function copyButton({ content }) {
  return element(
    'button',
    {
      class: 'link-button',
      type: 'button',
      async onclick(event) {
        const button = event.currentTarget
        await navigator.clipboard.writeText(asText(content)).then(
          () => (button.textContent = words.copied),
          () => undefined,
        )
      },
    },
    words.copy,
  )
}

/** An answer as people read it: a search document is its answer and where it was found. */
function asText(content) {
  const found = searchDocument(content)
  if (found === null) return content
  const sources = found.results.map(({ index, title, url }, place) => `[${index ?? place + 1}] ${title} ${url}`)
  return [found.answer ?? '', sources.join('\n')].filter((part) => part !== '').join('\n\n')
}

function contentOf({ role, content, reasoning = '' }) {
  if (role === 'user') return [element('p', { class: 'as-typed' }, content)]
  const found = searchDocument(content)
  if (found !== null) return searchAnswer(found)
  const thoughts =
    reasoning === ''
      ? []
      : [
          element(
            'details',
            { class: 'fold' },
            element('summary', {}, words.reasoning),
            element('div', { class: 'as-typed sub' }, reasoning),
          ),
        ]
  return [...thoughts, renderMarkdown(content, { imageOrigins: page.origins })]
}

/** The search product answers with a JSON document; it is shown as what it means. */
function searchDocument(content) {
  if (!content.startsWith('{')) return null
  try {
    const value = JSON.parse(content)
    return isSearchDocument(value) ? value : null
  } catch {
    return null
  }
}

/** Any model can write something that begins like one; what cannot be shown as one is shown as it is. */
function isSearchDocument({ schema, answer: text, results }) {
  const isText = (value) => typeof value === 'string'
  return (
    schema === page.searchSchema &&
    isText(text ?? '') &&
    Array.isArray(results) &&
    results.every((result) => isText(result?.title) && isText(result.url) && isText(result.snippet ?? ''))
  )
}

function searchAnswer({ answer: text, results }) {
  return [
    renderMarkdown(text ?? '', { imageOrigins: page.origins }),
    results.length > 0 && element('p', { class: 'label' }, words.sources),
    element(
      'ol',
      { class: 'sources' },
      ...results.map(({ title, url, snippet }) => {
        const href = safeUrl(url)
        return element(
          'li',
          {},
          href === null ? title : element('a', { href, target: '_blank', rel: 'noopener noreferrer nofollow' }, title),
          href !== null && element('span', { class: 'sub' }, ` ${new URL(href).host}`),
          snippet && element('p', { class: 'sub' }, snippet),
        )
      }),
    ),
  ].filter(Boolean)
}

function settle() {
  empty.hidden = list.childElementCount > 0
  sendButton.hidden = running !== null
  stopButton.hidden = running === null
}

function toEnd() {
  scroll.scrollTop = scroll.scrollHeight
}

function grow() {
  input.style.height = 'auto'
  input.style.height = `${Math.min(input.scrollHeight + 2, 220)}px`
}
