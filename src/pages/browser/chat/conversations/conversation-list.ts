/** The list of conversations beside the chat: grouped by age, searched, opened, renamed, exported, deleted. */
import { createIconButton } from '../../components/icon.ts'
import { createEmptyState } from '../../components/empty-state.ts'
import { formatInstant } from '../../format.ts'
import { createElement, getTexts, interpolate } from '../../page.ts'
import type { ConversationRecord } from '../chat-message.ts'

const texts = getTexts('chat')
/** More are listed on request. */
const pageSize = 60
const dayMs = 86_400_000

interface ListActions {
  readonly open: (id: string) => void
  readonly rename: (id: string, title: string) => void
  readonly exportOne: (record: ConversationRecord) => void
  readonly remove: (record: ConversationRecord) => void
}

export class ConversationList {
  readonly #host: HTMLElement
  readonly #actions: ListActions
  #limit = pageSize
  /** While a title is edited, changes from elsewhere do not take the field away. */
  #isRenaming = false

  constructor(host: HTMLElement, actions: ListActions) {
    this.#host = host
    this.#actions = actions
  }

  render(
    records: readonly ConversationRecord[],
    { current, isSearch }: { readonly current: string; readonly isSearch: boolean },
  ): void {
    if (this.#isRenaming) return
    const groups = new Map<string, ConversationRecord[]>()
    for (const record of records.slice(0, this.#limit)) {
      const name = toAge(record.updatedAt)
      groups.set(name, [...(groups.get(name) ?? []), record])
    }
    const nodes: Node[] = [...groups].flatMap(([name, group]) => [
      createElement('h2', { class: 'label' }, name),
      createElement(
        'ul',
        { class: 'conversations', role: 'list' },
        ...group.map((record) => this.#renderItem(record, record.id === current)),
      ),
    ])
    if (records.length === 0)
      nodes.push(createEmptyState(isSearch ? 'search' : 'inbox', isSearch ? texts.noneFound : texts.noConversations))
    if (records.length > this.#limit) {
      const showMore = (): void => {
        this.#limit += pageSize
        this.render(records, { current, isSearch })
      }
      nodes.push(createElement('button', { class: 'link-button', type: 'button', onclick: showMore }, texts.showMore))
    }
    this.#host.replaceChildren(...nodes)
  }

  #renderItem(record: ConversationRecord, isCurrent: boolean): HTMLElement {
    const title = record.title === '' ? texts.untitled : record.title
    const label = (text: string) => interpolate(text, { title })
    const item = createElement('li', { class: 'conversation' })
    const open = createElement(
      'button',
      {
        class: 'conversation-open',
        type: 'button',
        'aria-current': isCurrent ? 'true' : null,
        'data-tip': formatInstant(record.updatedAt),
        onclick: () => this.#actions.open(record.id),
      },
      title,
    )
    item.append(
      open,
      createElement(
        'span',
        { class: 'conversation-actions' },
        createIconButton('pencil', label(texts.rename), () => this.#startRename(item, record)),
        createIconButton('export', label(texts.exportOne), () => this.#actions.exportOne(record)),
        createIconButton('trash', label(texts.remove), () => this.#actions.remove(record)),
      ),
    )
    return item
  }

  #startRename(item: HTMLElement, record: ConversationRecord): void {
    const field = createElement('input', {
      class: 'conversation-title',
      value: record.title,
      maxlength: 120,
      'aria-label': texts.titleField,
    })
    const finish = (isAccepted: boolean): void => {
      if (!this.#isRenaming) return
      this.#isRenaming = false
      const title = field.value.trim()
      item.replaceWith(this.#renderItem(isAccepted && title !== '' ? { ...record, title } : record, false))
      this.#actions.rename(record.id, isAccepted && title !== '' ? title : record.title)
    }
    field.addEventListener('keydown', (event) => {
      if (event.isComposing || event.keyCode === 229) return
      if (event.key === 'Enter') finish(true)
      if (event.key === 'Escape') {
        event.stopPropagation()
        finish(false)
      }
    })
    field.addEventListener('blur', () => finish(true))
    this.#isRenaming = true
    item.replaceChildren(field)
    field.focus()
    field.select()
  }
}

function toAge(at: number): string {
  const midnight = new Date().setHours(0, 0, 0, 0)
  if (at >= midnight) return texts.ages.today
  if (at >= midnight - dayMs) return texts.ages.yesterday
  return at >= midnight - 6 * dayMs ? texts.ages.week : texts.ages.older
}
