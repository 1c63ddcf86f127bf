/** The chat page: the conversations of this device, one of them open, and its controls. */
import './site.ts'
import type { ApiError } from '../api-client.ts'
import { AnswerRun } from '../chat/answer-run.ts'
import type { AnswerEnd } from '../chat/answer-run.ts'
import { refreshBalance, showBalance } from '../chat/balance.ts'
import { findOtherModel, toApiError } from '../chat/chat-failure.ts'
import { createId } from '../chat/chat-message.ts'
import type { ChatMessage } from '../chat/chat-message.ts'
import { Composer } from '../chat/composer/composer.ts'
import { ConversationPanel } from '../chat/conversations/conversation-panel.ts'
import { ConversationStore } from '../chat/conversations/conversation-store.ts'
import type { StorageProblem, TabEvent } from '../chat/conversations/conversation-store.ts'
import { OpenConversation } from '../chat/conversations/open-conversation.ts'
import { OtherTabAnswers } from '../chat/other-tab-answers.ts'
import { toReadableText, MessageView } from '../chat/message-view.ts'
import type { MessageActions } from '../chat/message-view.ts'
import { ModelPicker } from '../chat/composer/model-picker.ts'
import { openPicture } from '../chat/picture-dialog.ts'
import { connectSettings, showSettings } from '../chat/composer/settings-dialog.ts'
import { showToast } from '../components/toast.ts'
import { readStored, writeStored } from '../device-storage.ts'
import type { ChatModel } from '../../page-data.ts'
import { commonTexts, findElement, findElements, interpolate, signedOutEvent, getProps, getTexts } from '../page.ts'

const texts = getTexts('chat')
const { account, models } = getProps('chat')
const scroll = findElement('[data-scroll]', HTMLElement)
const list = findElement('[data-messages]', HTMLElement)
const empty = findElement('[data-empty]', HTMLElement)
const status = findElement('[data-status]', HTMLElement)
const storageNotice = findElement('[data-storage]', HTMLElement)
const sendButton = findElement('[data-send]', HTMLElement)
const stopButton = findElement('[data-stop]', HTMLElement)
const jumpButton = findElement('[data-jump]', HTMLElement)
/** The conversation of this tab, so that a reload shows it again; another tab begins with a new one. */
const openKey = `open-conversation:${account}`

const picker = new ModelPicker(models, account)
const composer = new Composer({
  models,
  getModel: getChosenModel,
  chooseModel: (id) => picker.choose(id),
  getDraftKey: () => `draft:${conversation.messages.length === 0 ? account : conversation.id}`,
})
const store = await ConversationStore.open(account)
store.onProblem = showStorageProblem
store.onOtherTab = followOtherTab
let conversation = new OpenConversation(store)
let runningAnswer: AnswerRun | null = null
/** Whether the list is scrolled to its end and follows new text; a reader who scrolled up stays where they are. */
let isFollowing = true
/** Another tab changed the open conversation while this one wrote an answer in it. */
let isOutdated = false
const views = new Map<ChatMessage, MessageView>()
const otherTabs = new OtherTabAnswers({
  ask: () => store.announce({ kind: 'asked', id: conversation.id }),
  onAbandoned: (message) => void showAbandoned(message),
})

const messageActions: MessageActions = {
  isFollowing: () => isFollowing,
  scrollToEnd,
  regenerate: (message) => replaceFrom(message, () => void requestAnswer()),
  resume: (message) => {
    if (runningAnswer === null) void requestAnswer(message)
  },
  resend: (message, text) =>
    replaceFrom(message, () => {
      addMessage({ ...message, id: createId(), place: conversation.nextPlace, content: text })
      void requestAnswer()
    }),
}
const panel = new ConversationPanel({ store, getOpen: () => conversation, open: openConversation })

await openConversation(readStored('sessionStorage', openKey))
if (!store.isPersistent) showStorageProblem('forbidden')

list.addEventListener('click', (event) => {
  const picture = event.target instanceof HTMLImageElement ? event.target : null
  if (picture === null || event.ctrlKey || event.metaKey || event.shiftKey) return
  event.preventDefault()
  openPicture(picture)
})
connectSettings(
  () => conversation.record,
  (settings) => conversation.update(settings),
)
picker.onChange(updateBalance)
void refreshBalance(null).then(updateBalance)
scroll.addEventListener('scroll', () => {
  isFollowing = scroll.scrollHeight - scroll.scrollTop - scroll.clientHeight < 60
  jumpButton.hidden = isFollowing
})
// Pictures, formulas and colours come after the text.
new ResizeObserver(() => isFollowing && scrollToEnd()).observe(list)
jumpButton.addEventListener('click', () => {
  scrollToEnd()
  composer.focus()
})

let leavingSince = -Infinity
addEventListener('beforeunload', () => {
  leavingSince = performance.now()
})
// A member who leaves in mid-answer finds the received part again, because it was charged.
addEventListener('pagehide', () => {
  runningAnswer?.leave()
  keepForNextPage()
})
// Otherwise this page would store again what sign-out has just removed. What it keeps for the next page, a removal removes too.
addEventListener(signedOutEvent, () => {
  keepForNextPage()
  runningAnswer?.stop()
  store.close()
})

// Escape closes what is open; without that it stops the answer.
document.addEventListener(
  'keydown',
  (event) => {
    if (event.key === 'Escape' && document.querySelector('dialog[open], details.menu[open]') === null) runningAnswer?.stop()
  },
  { capture: true },
)
stopButton.addEventListener('click', () => runningAnswer?.stop())
for (const button of findElements('[data-new]', HTMLElement)) {
  button.addEventListener('click', () => {
    panel.close()
    void openConversation(null)
    composer.focus()
  })
}
for (const button of findElements('[data-suggestion]', HTMLElement))
  button.addEventListener('click', () => composer.send(button.textContent.trim()))

composer.connect({
  isBusy: () => runningAnswer !== null,
  send(text, images) {
    const place = conversation.nextPlace
    addMessage({ id: createId(), place, role: 'user', content: text, ...(images.length === 0 ? {} : { images }) })
    void requestAnswer()
  },
})

/** Shows the stored conversation, or a new one. A running answer is stopped, and what it has so far is kept. */
async function openConversation(id: string | null): Promise<void> {
  runningAnswer?.stop()
  const record = id === null ? undefined : await store.find(id)
  const messages = record === undefined ? [] : await store.loadMessages(record.id)
  await showConversation(new OpenConversation(store, record && { record, messages }))
}

async function showConversation(shown: OpenConversation): Promise<void> {
  conversation = shown
  isOutdated = false
  otherTabs.clear()
  writeStored('sessionStorage', openKey, shown.messages.length === 0 ? null : shown.id)
  views.clear()
  list.replaceChildren()
  isFollowing = true
  for (const message of conversation.messages) showStored(message)
  composer.showDraft()
  showSettings(shown.record)
  updateControls()
  scrollToEnd()
  await panel.render()
}

function showStored(message: ChatMessage): void {
  const view = appendMessage(message)
  if (message.unfinished === 'left') {
    view.start()
    otherTabs.expect(message)
  } else if (message.unfinished !== undefined) showFailure(message, view, toApiError(message.unfinished))
}

function addMessage(message: ChatMessage): void {
  conversation.add(message)
  appendMessage(message)
  writeStored('sessionStorage', openKey, conversation.id)
  void panel.render()
}

function appendMessage(message: ChatMessage): MessageView {
  const view = new MessageView(message, messageActions)
  views.set(message, view)
  list.append(view.node)
  return view
}

/** Removes a message and all after it, begins anew there, and offers to take that back. */
function replaceFrom(message: ChatMessage, begin: () => void): void {
  if (runningAnswer !== null) return
  const changedConversation = conversation
  const keptMessages = new Set(changedConversation.messages)
  const removedMessages = changedConversation.cutFrom(message)
  for (const one of removedMessages) forgetView(one)
  for (const one of removedMessages) keptMessages.delete(one)
  begin()
  showToast(texts.replaced, {
    label: texts.undo,
    run: () => {
      if (runningAnswer?.conversation === changedConversation) runningAnswer.stop()
      changedConversation.remove(changedConversation.messages.filter((one) => !keptMessages.has(one)))
      changedConversation.restore(removedMessages)
      if (conversation === changedConversation) void showConversation(changedConversation)
    },
  })
}

function forgetView(message: ChatMessage): void {
  views.get(message)?.node.remove()
  views.delete(message)
}

/** Asks for the answer to the last message, or for the rest of an answer that was cut. */
async function requestAnswer(resumed?: ChatMessage): Promise<void> {
  const model = getChosenModel()
  const answeredConversation = conversation
  const message: ChatMessage = resumed ?? {
    id: createId(),
    place: answeredConversation.nextPlace,
    role: 'assistant',
    content: '',
    model: model.name,
  }
  // The part so far is sent as an answer, followed by the request to go on.
  delete message.unfinished
  delete message.cut
  const history = answeredConversation.toRequest({ asText: toReadableText, withImages: model.capabilities.includes('vision') })
  const messages = resumed === undefined ? history : [...history, { role: 'user', content: texts.resumeRequest } as const]
  message.unfinished = 'left'
  if (resumed === undefined) answeredConversation.add(message)
  else answeredConversation.save(message)
  const run = new AnswerRun(answeredConversation, message)
  const view = views.get(message) ?? appendMessage(message)
  view.start()
  runningAnswer = run
  updateControls()
  scrollToEnd()
  const end = await run.write(
    { model, messages },
    () => view.update(),
    () => leavingSince,
  )
  showEnd(end, message, view)
  if (runningAnswer === run) runningAnswer = null
  // An answer stopped before its first text is dropped.
  if (message.content === '' && message.unfinished === undefined) {
    answeredConversation.remove([message])
    forgetView(message)
  } else answeredConversation.save(message)
  answeredConversation.announce()
  updateControls()
  if (isOutdated && conversation === answeredConversation) void openConversation(answeredConversation.id)
  void showCredits(run.requestId, message, answeredConversation)
}

function showEnd(end: AnswerEnd, message: ChatMessage, view: MessageView): void {
  if (end.kind === 'failed') return showFailure(message, view, end.failure)
  view.end(end.kind === 'left' ? texts.leftWhile : undefined)
  if (end.kind !== 'left') status.textContent = end.kind === 'stopped' ? texts.stopped : texts.finished
}

/** The answer's turns together, once the last one is settled; and what is left now. */
async function showCredits(requestId: string | null, message: ChatMessage, asked: OpenConversation): Promise<void> {
  const credits = await refreshBalance(requestId)
  updateBalance()
  if (credits === null || !asked.messages.includes(message)) return
  message.credits = (message.credits ?? 0) + credits
  asked.save(message)
  if (message.unfinished === undefined && runningAnswer?.message !== message) views.get(message)?.end()
}

function updateBalance(): void {
  showBalance(picker.chosen?.tier === 'flagship' ? 'premium' : 'fast')
}

function showFailure(message: ChatMessage, view: MessageView, failure: ApiError): void {
  const isPartial = message.content !== ''
  const repeat = (): void => {
    if (runningAnswer !== null) return
    conversation.remove([message])
    forgetView(message)
    void requestAnswer()
  }
  const other = failure.advises('switch_model')
    ? findOtherModel(failure, { models, failed: message.model, needsVision: conversation.hasImages })
    : undefined
  const [retryButton] = view.fail(failure, [
    // A member who signed in again finds the failure of before.
    { label: commonTexts.retry, run: repeat, hidden: !failure.advises('retry_later') && failure.code !== 'sign_in_required' },
    ...(other === undefined
      ? []
      : [
          {
            label: interpolate(texts.askOther, { model: other.name }),
            run: () => {
              picker.choose(other.id)
              repeat()
            },
          },
        ]),
    ...(isPartial ? [{ label: texts.resume, run: () => messageActions.resume(message) }] : []),
  ])
  if (!failure.advises('switch_model')) return
  const stop = picker.onChange(() => {
    stop()
    if (retryButton !== undefined) retryButton.hidden = false
  })
}

function getChosenModel(): ChatModel {
  return picker.chosen ?? { id: '', name: '', tier: 'light', capabilities: [] }
}

function showStorageProblem(problem: StorageProblem | null): void {
  storageNotice.hidden = problem === null
  if (problem !== null) storageNotice.textContent = problem === 'full' ? texts.storageFull : texts.storageForbidden
}

/** Shows an answer whose page was left, with the part that this page kept when it was left. */
async function showAbandoned(message: ChatMessage): Promise<void> {
  await store.recover()
  Object.assign(message, await store.findMessage(message.id))
  views.get(message)?.end(texts.leftWhile)
}

function keepForNextPage(): void {
  store.keepForNextPage(runningAnswer && { ...runningAnswer.message, conversation: runningAnswer.conversation.id })
}

function followOtherTab(event: TabEvent): void {
  if (event.kind === 'cleared') {
    if (!event.isRemoved) keepForNextPage()
    runningAnswer?.stop()
    store.close()
    sessionStorage.clear()
    // The page of a member who is signed out leads to sign-in.
    location.reload()
    return
  }
  if (event.kind === 'asked') {
    if (runningAnswer?.conversation.id === event.id) runningAnswer.conversation.save(runningAnswer.message, true)
    return
  }
  const isOpen = event.id === conversation.id
  if (event.kind === 'writing') {
    if (isOpen && runningAnswer === null) void followAnswer(event.message)
    return
  }
  if (isOpen && event.kind === 'deleted') {
    void openConversation(null)
    showToast(texts.removedElsewhere)
  } else if (isOpen && runningAnswer === null) void openConversation(event.id)
  else {
    if (isOpen) isOutdated = true
    void panel.render()
  }
}

/** Shows the stored state of an answer that another tab writes. */
async function followAnswer(id: string): Promise<void> {
  const followedConversation = conversation
  const storedMessage = await store.findMessage(id)
  const message = followedConversation.messages.find((one) => one.id === id)
  if (storedMessage === undefined || runningAnswer !== null || conversation !== followedConversation) return
  // An ended answer, or one that is new here, comes with the conversation.
  if (message === undefined || storedMessage.unfinished !== 'left') return openConversation(followedConversation.id)
  Object.assign(message, storedMessage)
  const view = views.get(message)
  view?.start(texts.writtenElsewhere)
  view?.update()
  otherTabs.confirm(message)
}

function updateControls(): void {
  empty.hidden = list.childElementCount > 0
  sendButton.hidden = runningAnswer !== null
  stopButton.hidden = runningAnswer === null
}

function scrollToEnd(): void {
  scroll.scrollTop = scroll.scrollHeight
}
