/** The chat: one conversation, and what its reader does with it. */
import { complete } from './completion.ts'
import { Conversation } from './conversation.ts'
import type { KeptFailure, Message } from './conversation.ts'
import { asText, MessageView } from './message-view.ts'
import { find, findAll, signedOut, told, words } from './page.ts'
import { CallFailure, isEnvelope } from './service.ts'

const texts = words('chat')
const { account, models, statuses } = told('chat')
const conversation = new Conversation(account)
const scroll = find('[data-scroll]', HTMLElement)
const list = find('[data-messages]', HTMLElement)
const empty = find('[data-empty]', HTMLElement)
const status = find('[data-status]', HTMLElement)
const form = find('[data-composer]', HTMLFormElement)
const input = find('#message', HTMLTextAreaElement)
const model = find('#model', HTMLSelectElement)
const sendButton = find('[data-send]', HTMLElement)
const stopButton = find('[data-stop]', HTMLElement)
const modelKey = `model:${account}`
/** A tab that is discarded says no farewell; at most this much of an answer is lost with it. */
const keepEveryMs = 1_000
/** Nothing is known of an end that was not the answer's own. */
const unfinished = { reason: null, usage: null } as const

/** The running turn's abort controller, null between turns. */
let running: AbortController | null = null

/** Whether the reader is at the end, and so wants to see what comes; whoever scrolled up is left where they read. */
let following = true
scroll.addEventListener('scroll', () => {
  following = scroll.scrollHeight - scroll.scrollTop - scroll.clientHeight < 60
})
// A picture takes its place when it has come; loads do not bubble.
list.addEventListener('load', () => following && toEnd(), true)

const chosenBefore = localStorage.getItem(modelKey)
if (chosenBefore !== null && models.some(({ id }) => id === chosenBefore)) model.value = chosenBefore
model.addEventListener('change', () => localStorage.setItem(modelKey, model.value))
for (const message of conversation.messages) {
  const view = append(message)
  if (message.unfinished === 'left') view.end(unfinished, texts.leftWhile)
  else if (message.unfinished !== undefined) fail(message, view, toFailure(message.unfinished))
}
settle()
// Whoever leaves in mid-answer finds as much of it again as had come: it was paid for. What the browser then breaks off is no failure.
let leaving = false
addEventListener('pagehide', () => {
  leaving = true
  conversation.save()
})
// Else the farewell would keep once more what signing out has just cleared.
addEventListener(signedOut, () => conversation.clear())
addEventListener('pageshow', () => {
  leaving = false
})

form.addEventListener('submit', (event) => {
  event.preventDefault()
  const text = input.value.trim()
  if (text === '' || running !== null) return
  input.value = ''
  grow()
  const message: Message = { role: 'user', content: text }
  conversation.add(message)
  append(message)
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
find('[data-new]', HTMLElement).addEventListener('click', () => {
  running?.abort()
  conversation.clear()
  list.replaceChildren()
  settle()
  input.focus()
})
for (const button of findAll('[data-suggestion]', HTMLElement)) {
  button.addEventListener('click', () => {
    input.value = button.textContent.trim()
    form.requestSubmit()
  })
}

async function answer(): Promise<void> {
  const chosen = models.find(({ id }) => id === model.value) ?? { id: model.value, name: model.value, capabilities: [] }
  const message: Message = { role: 'assistant', content: '', model: chosen.name, unfinished: 'left' }
  const messages = conversation.toRequest(asText)
  conversation.add(message)
  const keeping = setInterval(() => conversation.save(), keepEveryMs)
  const view = append(message)
  view.think()
  const { signal } = (running = new AbortController())
  settle()
  toEnd()
  try {
    const finish = await complete({ model: chosen, messages, signal, statuses }, (delta) => {
      message.content += delta.content
      message.reasoning = (message.reasoning ?? '') + delta.reasoning
      view.update()
    })
    if (finish === null) throw brokenOff()
    delete message.unfinished
    view.end(finish)
    status.textContent = texts.finished
  } catch (thrown) {
    if (leaving) return
    const stopped = thrown instanceof DOMException && thrown.name === 'AbortError'
    if (stopped) {
      delete message.unfinished
      view.end(unfinished, texts.stopped)
      status.textContent = texts.stopped
    } else {
      const failure = thrown instanceof CallFailure ? thrown : brokenOff()
      message.unfinished = { status: failure.status, envelope: failure.envelope }
      fail(message, view, failure)
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

function append(message: Message): MessageView {
  const view = new MessageView(message, { following: () => following, toEnd })
  list.append(view.node)
  return view
}

function fail(message: Message, view: MessageView, failure: CallFailure): void {
  view.fail(failure, () => {
    if (running !== null) return
    conversation.remove(message)
    view.node.remove()
    void answer()
  })
}

function brokenOff(): CallFailure {
  return toFailure({ status: 0, envelope: null })
}

/** A failure as it was kept; where the service told none, the answer broke off. */
function toFailure({ status, envelope }: KeptFailure): CallFailure {
  const failure = new CallFailure(status, isEnvelope(envelope) ? envelope : null)
  if (failure.envelope === null) failure.message = texts.broken
  return failure
}

function settle(): void {
  empty.hidden = list.childElementCount > 0
  sendButton.hidden = running !== null
  stopButton.hidden = running === null
}

function toEnd(): void {
  scroll.scrollTop = scroll.scrollHeight
}

function grow(): void {
  input.style.height = 'auto'
  input.style.height = `${Math.min(input.scrollHeight + 2, 220)}px`
}
