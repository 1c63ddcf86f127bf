/** One message on the page, and how it changes while it is written. */
import { becomeLike } from './become-like.ts'
import type { Finish } from './completion.ts'
import type { Message } from './conversation.ts'
import { figure } from './figures.ts'
import { renderMarkdown } from './markdown.ts'
import { element, fill, told, words } from './page.ts'
import { foundIn, searchAnswer, searchText } from './search-answer.ts'
import type { CallFailure } from './service.ts'
import { failureNotice } from './show.ts'

const texts = words('chat')
const { origins } = told('chat')
/** Why an answer ended that did not end by itself. */
const cuts: Readonly<Record<string, string>> = { length: texts.cut, content_filter: texts.filtered }

/** The list of messages as far as one of them must know it. */
export interface Scroll {
  /** Whether the reader is at the end, and so wants to see what comes. */
  readonly following: () => boolean
  readonly toEnd: () => void
}

export class MessageView {
  readonly node: HTMLLIElement
  readonly #message: Message
  readonly #scroll: Scroll
  readonly #body = element('div', { class: 'prose' })
  readonly #foot = element('p', { class: 'message-foot' })
  #due = false

  constructor(message: Message, scroll: Scroll) {
    this.#message = message
    this.#scroll = scroll
    const fromMember = message.role === 'user'
    const name = element('p', { class: 'message-name' }, fromMember ? texts.you : message.model)
    this.node = element('li', { class: `message ${fromMember ? 'mine' : 'theirs'}` }, name, this.#body, this.#foot)
    this.#draw()
    if (!fromMember && message.content !== '') this.#foot.replaceChildren(copyButton(message))
  }

  /** Nothing has come yet. */
  think(): void {
    const dots = [1, 2, 3].map(() => element('i'))
    this.#body.replaceChildren(element('p', { class: 'thinking' }, element('span', { class: 'unseen' }, texts.thinking), ...dots))
  }

  /** The message has grown. Once a frame is as often as anybody can see. */
  update(): void {
    if (this.#due) return
    this.#due = true
    requestAnimationFrame(() => this.#draw())
  }

  /** The answer has ended; `note` says why where it was not its own end. */
  end({ reason, usage }: Finish, note = cuts[reason ?? '']): void {
    const atEnd = this.#scroll.following()
    this.#draw()
    this.#foot.replaceChildren(
      ...[
        this.#message.content !== '' && copyButton(this.#message),
        usage !== null &&
          element(
            'span',
            {},
            fill(texts.tokens, { input: figure(usage.prompt_tokens), output: figure(usage.completion_tokens) }),
          ),
        note !== undefined && element('span', { class: 'badge warn' }, note),
      ].filter((part) => part !== false),
    )
    if (atEnd) this.#scroll.toEnd()
  }

  fail(failure: CallFailure, retry: () => void): void {
    this.#draw()
    this.#foot.replaceChildren()
    const notice = failureNotice(failure)
    notice.append(element('button', { class: 'button quiet small', type: 'button', onclick: retry }, texts.retry))
    this.#foot.after(notice)
    if (this.#scroll.following()) this.#scroll.toEnd()
  }

  #draw(): void {
    this.#due = false
    // What has not changed stays as it is: an opened fold, a selection, a picture.
    becomeLike(this.#body, element('div', {}, ...contentOf(this.#message)))
    if (this.#scroll.following()) this.#scroll.toEnd()
  }
}

/** An answer as people read it: a search document is its answer and where it was found. */
export function asText(content: string): string {
  const found = foundIn(content)
  return found === null ? content : searchText(found)
}

function copyButton({ content }: Message): HTMLElement {
  const button = element('button', { class: 'link-button', type: 'button' }, texts.copy)
  button.addEventListener('click', () =>
    navigator.clipboard.writeText(asText(content)).then(
      () => (button.textContent = texts.copied),
      () => undefined,
    ),
  )
  return button
}

function contentOf({ role, content, reasoning = '' }: Message): Node[] {
  if (role === 'user') return [element('p', { class: 'as-typed' }, content)]
  const found = foundIn(content)
  if (found !== null) return searchAnswer(found)
  const answer = renderMarkdown(content, { imageOrigins: origins })
  if (reasoning === '') return [answer]
  const thoughts = element('div', { class: 'as-typed sub' }, reasoning)
  return [element('details', { class: 'fold' }, element('summary', {}, texts.reasoning), thoughts), answer]
}
