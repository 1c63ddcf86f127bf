/** One message on the page, and how it changes while it is written. */
import { copyText } from '../copy-text.ts'
import { renderFailureNotice } from '../components/request-state.ts'
import { formatCount, formatNumber } from '../format.ts'
import { createElement, interpolate, getProps, getTexts } from '../page.ts'
import type { ApiError } from '../api-client.ts'
import type { ChatMessage } from './chat-message.ts'
import { AnswerBody } from './answer-body.ts'
import { formatSearchAnswer, linkCitations, parseSearchAnswer, renderSources } from './search-answer.ts'

const texts = getTexts('chat')
const { origins } = getProps('chat')
/** Why an answer ended early. */
const cutReasons: Readonly<Record<string, string>> = {
  stopped: texts.stopped,
  length: texts.cut,
  content_filter: texts.filtered,
}
/** A long answer takes its browser longer to draw; it is drawn again after this many times that. */
const drawPause = 4

export interface MessageActions {
  /** Whether the list is scrolled to its end and follows new text. */
  readonly isFollowing: () => boolean
  readonly scrollToEnd: () => void
  readonly regenerate: (message: ChatMessage) => void
  readonly resume: (message: ChatMessage) => void
  /** The member's message again with other text. */
  readonly resend: (message: ChatMessage, text: string) => void
}

/** What a failed answer offers besides its explanation. */
interface FailureOffer {
  readonly label: string
  readonly run: () => void
  readonly hidden?: boolean
}

export class MessageView {
  readonly node: HTMLLIElement
  readonly #message: ChatMessage
  readonly #actions: MessageActions
  readonly #body = createElement('div', { class: 'message-body' })
  readonly #prose = createElement('div', { class: 'prose' })
  readonly #thoughts = createElement('div', { class: 'as-typed sub' })
  readonly #thoughtsTitle = createElement('summary')
  #answer: AnswerBody
  readonly #foot = createElement('p', { class: 'message-foot' })
  #notice: HTMLElement | null = null
  #isDrawScheduled = false
  #drawMs = 0

  constructor(message: ChatMessage, actions: MessageActions) {
    this.#message = message
    this.#actions = actions
    this.#answer = this.#createAnswer()
    this.#body.append(this.#prose)
    const fromMember = message.role === 'user'
    const name = createElement('p', { class: 'message-name' }, fromMember ? texts.you : message.model)
    this.node = createElement('li', { class: `message ${fromMember ? 'mine' : 'theirs'}` }, name, this.#body, this.#foot)
    if (fromMember || message.unfinished === undefined) this.end()
    else this.#render(true)
  }

  /** The answer is being written, by this tab or by the one that `note` names; nothing has come yet where its text is empty. */
  start(note?: string): void {
    this.#notice?.remove()
    this.#notice = null
    this.#foot.replaceChildren(...(note === undefined ? [] : [createElement('span', { class: 'badge' }, note)]))
    this.#body.classList.add('writing')
    if (this.#message.content !== '') return
    const dots = [1, 2, 3].map(() => createElement('i'))
    this.#reset()
    this.#prose.append(
      createElement('p', { class: 'thinking' }, createElement('span', { class: 'unseen' }, texts.thinking), ...dots),
    )
  }

  /** The message has grown. Once a frame is as often as anybody can see. */
  update(): void {
    if (this.#isDrawScheduled) return
    this.#isDrawScheduled = true
    const draw = () => requestAnimationFrame(() => this.#isDrawScheduled && this.#render(false))
    if (this.#drawMs > 8) setTimeout(draw, this.#drawMs * drawPause)
    else draw()
  }

  /** Shows the message as ended, with what can be done with it; `note` gives a reason that the message does not have. */
  end(note = cutReasons[this.#message.cut ?? '']): void {
    const atEnd = this.#actions.isFollowing()
    const { role, content, usage, credits } = this.#message
    const isAnswer = role === 'assistant'
    this.#body.classList.remove('writing')
    this.#render(true)
    const canResume = isAnswer && content !== '' && (this.#message.unfinished !== undefined || this.#message.cut !== undefined)
    this.#foot.replaceChildren(
      ...[
        isAnswer && content !== '' && createCopyButton(this.#message, this.#body),
        canResume && createAction(texts.resume, () => this.#actions.resume(this.#message)),
        isAnswer && createAction(texts.regenerate, () => this.#actions.regenerate(this.#message)),
        !isAnswer && createAction(texts.edit, () => this.#startEdit()),
        credits !== null && credits !== undefined && renderCredits(credits),
        usage !== null && usage !== undefined && renderTokens(usage),
        note !== undefined && createElement('span', { class: 'badge warn' }, note),
      ].filter((part) => part !== false),
    )
    if (atEnd) this.#actions.scrollToEnd()
  }

  /** Shows why the answer failed. Returns the buttons of the offers. */
  fail(failure: ApiError, offers: readonly FailureOffer[]): HTMLButtonElement[] {
    this.#body.classList.remove('writing')
    this.#render(true)
    this.#foot.replaceChildren()
    const notice = renderFailureNotice(failure)
    const buttons = offers.map(({ label, run, hidden = false }) =>
      createElement('button', { class: 'button quiet small', type: 'button', hidden, onclick: run }, label),
    )
    notice.append(createElement('p', { class: 'actions' }, ...buttons))
    this.#foot.after(notice)
    this.#notice = notice
    if (this.#actions.isFollowing()) this.#actions.scrollToEnd()
    return buttons
  }

  #render(isFinal: boolean): void {
    this.#isDrawScheduled = false
    const startedMs = performance.now()
    const { role, content, images = [] } = this.#message
    if (role === 'user') {
      const pictures = images.map((src) => createElement('img', { class: 'attached', src, alt: texts.attachedPicture }))
      this.#prose.replaceChildren(...pictures, ...(content === '' ? [] : [createElement('p', { class: 'as-typed' }, content)]))
    } else {
      this.#renderThoughts()
      this.#renderAnswer(isFinal)
    }
    this.#drawMs = performance.now() - startedMs
    if (this.#actions.isFollowing()) this.#actions.scrollToEnd()
  }

  #renderAnswer(isFinal: boolean): void {
    const { content } = this.#message
    if (content === '' && !isFinal) return
    if (this.#prose.firstElementChild?.matches('.thinking') === true) this.#prose.replaceChildren()
    if (!isFinal) return this.#answer.grow(content)
    const searchAnswer = parseSearchAnswer(content)
    if (searchAnswer === null) return this.#answer.finish(content)
    this.#reset()
    const answer = this.#createAnswer((blocks) => linkCitations(searchAnswer, blocks))
    answer.finish(searchAnswer.answer)
    this.#prose.append(...renderSources(searchAnswer))
  }

  #renderThoughts(): void {
    const { content, reasoning = '', reasoningMs } = this.#message
    if (reasoning === '') return
    if (this.#thoughts.parentNode === null)
      this.#body.prepend(createElement('details', { class: 'fold' }, this.#thoughtsTitle, this.#thoughts))
    const seconds = reasoningMs === undefined ? null : formatNumber(Math.max(1, Math.round(reasoningMs / 1000)))
    this.#thoughtsTitle.textContent =
      seconds !== null ? interpolate(texts.reasoned, { seconds }) : content === '' ? texts.reasoningNow : texts.reasoning
    // Grown text is appended, so that a selection in it stays.
    const shownNode = this.#thoughts.firstChild
    if (shownNode instanceof Text && reasoning.startsWith(shownNode.data))
      shownNode.appendData(reasoning.slice(shownNode.data.length))
    else this.#thoughts.textContent = reasoning
  }

  #reset(): void {
    this.#prose.replaceChildren()
    this.#answer = this.#createAnswer()
  }

  #createAnswer(transform?: ConstructorParameters<typeof AnswerBody>[2]): AnswerBody {
    return new AnswerBody(this.#prose, { imageOrigins: origins, idPrefix: `note-${this.#message.id}` }, transform)
  }

  #startEdit(): void {
    const field = createElement('textarea', { class: 'edit-field', 'aria-label': texts.editField })
    field.value = this.#message.content
    const form = createElement(
      'form',
      { class: 'edit' },
      field,
      createElement(
        'p',
        { class: 'actions' },
        createElement('button', { class: 'button small' }, texts.resend),
        createElement('button', { class: 'button quiet small', type: 'button', onclick: () => close() }, texts.cancelEdit),
      ),
    )
    const close = (): void => {
      form.remove()
      this.#body.hidden = this.#foot.hidden = false
      this.#foot.querySelector('button')?.focus()
    }
    form.addEventListener('submit', (event) => {
      event.preventDefault()
      const text = field.value.trim()
      if (text === '' && (this.#message.images ?? []).length === 0) return
      close()
      this.#actions.resend(this.#message, text)
    })
    field.addEventListener('keydown', (event) => {
      if (event.key !== 'Escape') return
      event.stopPropagation()
      close()
    })
    this.#body.hidden = this.#foot.hidden = true
    this.#body.after(form)
    field.style.height = `${Math.min(field.scrollHeight + 2, 320)}px`
    field.focus()
  }
}

/** An answer as people read it: a search document is its answer and where it was found. */
export function toReadableText(content: string): string {
  const searchAnswer = parseSearchAnswer(content)
  return searchAnswer === null ? content : formatSearchAnswer(searchAnswer)
}

function createAction(label: string, onclick: () => void): HTMLElement {
  return createElement('button', { class: 'link-button', type: 'button', onclick }, label)
}

function createCopyButton(message: ChatMessage, body: HTMLElement): HTMLElement {
  const button = createAction(texts.copy, () => {
    const text = toReadableText(message.content)
    copyText(text, body).then(
      (isCopied) => {
        if (isCopied) button.textContent = texts.copied
      },
      () => undefined,
    )
  })
  return button
}

function renderCredits(credits: number): HTMLElement {
  return createElement('span', {}, formatCount('credits', credits))
}

function renderTokens({ prompt_tokens: input, completion_tokens: output }: NonNullable<ChatMessage['usage']>): HTMLElement {
  return createElement('span', {}, interpolate(texts.tokens, { input: formatNumber(input), output: formatNumber(output) }))
}
